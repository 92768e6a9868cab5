//! The program that compares, and whose workers have mimalloc as their allocator.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> anyhow::Result<()> {
    peers::main(peers::Allocator::Mimalloc)
}
