//! The merchant's colour, and the ink that is readable on it.

/// The colour of text on a dark ground.
const LIGHT_INK: &str = "#fff";

/// The colour of text on a light ground.
const DARK_INK: &str = "#1c1c1a";

/// The weights of red, green and blue in a colour's luminance, in ten-thousandths (WCAG 2, relative
/// luminance).
const WEIGHTS: [u32; 3] = [2_126, 7_152, 722];

/// The dark ink has more contrast from this luminance on. It is 0.2, times 10,000 for the weights,
/// times 255² because a channel's light grows about with its square.
const LIGHT_FROM: u32 = 2_000 * 255 * 255;

/// A colour of three channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Color([u8; 3]);

impl Color {
    /// Reads `#rrggbb`.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6)?;
        let mut channels = [0; 3];
        hex::decode_to_slice(digits, &mut channels).ok()?;
        Some(Self(channels))
    }

    /// The colour for a style sheet.
    pub fn css(self) -> String {
        format!("#{}", hex::encode(self.0))
    }

    /// The ink with the greater contrast on this colour.
    pub fn ink(self) -> &'static str {
        let light: u32 = self
            .0
            .iter()
            .zip(WEIGHTS)
            .map(|(&channel, weight)| weight * u32::from(channel) * u32::from(channel))
            .sum();
        if light < LIGHT_FROM { LIGHT_INK } else { DARK_INK }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_light_colour_gets_dark_ink_and_a_dark_one_light_ink() {
        for (color, ink) in [
            ("#ffffff", DARK_INK),
            ("#ffe066", DARK_INK),
            ("#f7931a", DARK_INK),
            ("#4fc3a1", DARK_INK),
            ("#1d6f42", LIGHT_INK),
            ("#b45309", LIGHT_INK),
            ("#0000ff", LIGHT_INK),
            ("#000000", LIGHT_INK),
        ] {
            assert_eq!(Color::parse(color).unwrap().ink(), ink, "{color}");
        }
    }

    #[test]
    fn an_invalid_colour_is_none() {
        for text in ["", "red", "#fff", "1d6f42", "#1d6f4", "#1d6f42;}", "#zzzzzz"] {
            assert_eq!(Color::parse(text), None, "{text}");
        }
        assert_eq!(Color::parse("#1D6F42").unwrap().css(), "#1d6f42");
    }
}
