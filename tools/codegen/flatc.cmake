# Options of the FlatBuffers build in the crate `flatc-fork`, which sets none itself: only `flatc`, and quickly.
set(FLATBUFFERS_BUILD_TESTS OFF CACHE BOOL "")
set(FLATBUFFERS_BUILD_FLATHASH OFF CACHE BOOL "")
set(FLATBUFFERS_BUILD_FLATLIB OFF CACHE BOOL "")
set(CMAKE_CXX_FLAGS_DEBUG "-O0" CACHE STRING "")
