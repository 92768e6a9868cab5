//! The same program with the allocator of the operating system, for workers that are to have it.

fn main() -> anyhow::Result<()> {
    peers::main(peers::Allocator::System)
}
