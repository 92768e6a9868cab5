//! Which of the CPU's vector instructions a loop is compiled for, chosen at run time.

/// Instruction sets that loops are compiled for, beside the one of the build.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What the build was made for.
    Portable,
    /// 256-bit vectors.
    Avx2,
    /// 512-bit vectors.
    Avx512,
    /// 512-bit vectors, and shifts across two of them.
    Avx512Vbmi2,
}

/// The best level of this CPU, found out once.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn level() -> Level {
    use std::sync::OnceLock;
    static LEVEL: OnceLock<Level> = OnceLock::new();
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
            Level::Avx512Vbmi2
        } else if avx512 {
            Level::Avx512
        } else if avx2 {
            Level::Avx2
        } else {
            Level::Portable
        }
    });
    #[cfg(test)]
    let level = level.min(tests::MOST.get());
    level
}

/// Has the bytes around a place fetched into the cache of the CPU, while other work is done: what is
/// read here and there from memory is mostly waited for.
#[inline(always)]
pub(crate) fn prefetch(bytes: &[u8], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(byte) = bytes.get(at) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: the place lies in the slice, and nothing is read or written.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(byte).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, at);
}

/// Defines a function whose body, an `#[inline(always)]` function of the same signature, is
/// compiled once per instruction set.
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
                    // SAFETY: these levels are given only to CPUs that have these features.
                    $crate::kernels::cpu::Level::Avx512
                    | $crate::kernels::cpu::Level::Avx512Vbmi2 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    $crate::kernels::cpu::Level::Avx2 => return unsafe { avx2($($arg),*) },
                    $crate::kernels::cpu::Level::Portable => {}
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
    use super::{Level, level};

    #[cfg(target_arch = "x86_64")]
    thread_local! {
        /// What the loops of this thread use at most.
        pub(super) static MOST: std::cell::Cell<Level> = const {
            std::cell::Cell::new(Level::Avx512Vbmi2)
        };
    }

    /// Of so many sizes or cases, tests take one: all of them, but for Miri, which takes a thousand
    /// times as long.
    pub(in crate::kernels) const STEP: usize = if cfg!(miri) { 11 } else { 1 };

    /// Runs a test with each of the levels that this CPU has.
    pub(in crate::kernels) fn at_every_level(test: impl Fn()) {
        #[cfg(target_arch = "x86_64")]
        {
            let best = level();
            for most in [Level::Portable, Level::Avx2, Level::Avx512] {
                if most < best {
                    MOST.set(most);
                    test();
                }
            }
            MOST.set(best);
        }
        test();
    }
}
