//! The program `peers`, with mimalloc as the allocator of its workers.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    peers::main(peers::Allocator::Mimalloc)
}
