//! Chance that can be repeated.
//!
//! A fault run must be reproducible from what the recording says, so every draw is a pure function
//! of (seed, rule, n), never of a generator that other traffic has advanced.

/// A number in `[0, 1)` that depends on nothing but its three inputs.
///
/// `n` counts the eligible exchanges of the rule within its scope; the scope's own id is left out on
/// purpose, so that a second run with other ids draws the same.
pub fn draw(seed: u64, rule: &str, n: u64) -> f64 {
    Rng::for_draw(seed, rule, n).next_f64()
}

/// A stream of numbers from a seed (splitmix64): for what needs more than one draw.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The stream of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream of one draw of one rule.
    pub fn for_draw(seed: u64, rule: &str, n: u64) -> Self {
        let mut state = mix(seed ^ 0x6d65_6464_6c65_7221);
        for octet in rule.bytes() {
            state = mix(state ^ u64::from(octet)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        Self(mix(state ^ n))
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `[0, 1)`, of 53 random bits.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit an f64 exactly")]
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draw_depends_on_its_inputs_alone() {
        assert_eq!(draw(7, "refunds fail", 3).to_bits(), draw(7, "refunds fail", 3).to_bits());
        assert_ne!(draw(7, "refunds fail", 3).to_bits(), draw(7, "refunds fail", 4).to_bits());
        assert_ne!(draw(7, "refunds fail", 3).to_bits(), draw(8, "refunds fail", 3).to_bits());
        assert_ne!(draw(7, "refunds fail", 3).to_bits(), draw(7, "other", 3).to_bits());
    }

    #[test]
    fn draws_are_spread_evenly() {
        for threshold in [0.1, 0.5, 0.9] {
            let below = (0..10_000).filter(|n| draw(42, "rule", *n) < threshold).count();
            let expected = 10_000.0 * threshold;
            let off = (f64::from(u32::try_from(below).unwrap()) - expected).abs();
            assert!(off < 200.0, "{below} of 10000 draws lie below {threshold}");
        }
    }
}
