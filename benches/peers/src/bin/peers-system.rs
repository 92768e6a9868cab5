//! The program `peers` with the allocator of the operating system, for workers that are measured with it.

fn main() -> anyhow::Result<()> {
    peers::main(peers::Allocator::System)
}
