//! Compiles loops for several instruction sets, and chooses between them at run time.

/// Instruction sets that loops are compiled for, in addition to the instruction set of the build.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CpuLevel {
    /// The instruction set of the build.
    Portable,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors.
    Avx512,
    /// 512-bit vectors, and shifts across two of them.
    Avx512Vbmi2,
}

/// Returns the best level of this CPU, which is detected once.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn level() -> CpuLevel {
    use std::sync::OnceLock;
    static LEVEL: OnceLock<CpuLevel> = OnceLock::new();
    let level = *LEVEL.get_or_init(|| {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        let avx512 = avx2
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        if avx512 && is_x86_feature_detected!("avx512vbmi2") {
            CpuLevel::Avx512Vbmi2
        } else if avx512 {
            CpuLevel::Avx512
        } else if avx2 {
            CpuLevel::Avx2
        } else {
            CpuLevel::Portable
        }
    });
    #[cfg(test)]
    let level = level.min(tests::MAX_LEVEL.get());
    level
}

/// Prefetches the bytes around `at` into the CPU cache. Scattered reads mostly wait for memory, and
/// prefetching lets other work go on meanwhile.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the byte lies in the slice, and a prefetch neither reads nor writes it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

/// Defines a function that is compiled once per instruction set. Its body is an `#[inline(always)]` function
/// of the same signature.
macro_rules! dispatch {
    ($(#[$meta:meta])* $vis:vis fn $name:ident<W: Word>($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident;) => {
        $(#[$meta])*
        $vis fn $name<W: Word>($($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx2<W: Word>($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
                fn avx512<W: Word>($($arg: $ty),*) $(-> $ret)? {
                    $body($($arg),*)
                }
                match $crate::kernels::cpu::level() {
                    // SAFETY: `level` returns these levels only on CPUs with these features.
                    $crate::kernels::cpu::CpuLevel::Avx512
                    | $crate::kernels::cpu::CpuLevel::Avx512Vbmi2 => return unsafe { avx512($($arg),*) },
                    // SAFETY: `level` returns this level only on CPUs with these features.
                    $crate::kernels::cpu::CpuLevel::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::kernels::cpu::CpuLevel::Portable => {}
                }
            }
            $body($($arg),*)
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
pub(super) mod tests {
    #[cfg(target_arch = "x86_64")]
    use super::{CpuLevel, level};

    #[cfg(target_arch = "x86_64")]
    thread_local! {
        /// Highest level that the loops of this thread use.
        pub(super) static MAX_LEVEL: std::cell::Cell<CpuLevel> = const {
            std::cell::Cell::new(CpuLevel::Avx512Vbmi2)
        };
    }

    /// Tests run every `STEP`-th size or case: all of them, except under Miri, which is about a thousand
    /// times slower.
    pub(in crate::kernels) const STEP: usize = if cfg!(miri) { 11 } else { 1 };

    /// Runs a test at each level that this CPU supports.
    pub(in crate::kernels) fn at_every_level(test: impl Fn()) {
        #[cfg(target_arch = "x86_64")]
        {
            let best = level();
            for most in [CpuLevel::Portable, CpuLevel::Avx2, CpuLevel::Avx512] {
                if most < best {
                    MAX_LEVEL.set(most);
                    test();
                }
            }
            MAX_LEVEL.set(best);
        }
        test();
    }
}
