//! QR codes as self-contained SVG documents.

use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};

/// Least width in pixels. The drawing is a vector drawing and can be enlarged without loss.
const SIZE_MIN: u32 = 240;

/// The QR code of `text`, dark on light in every theme, as scanners need it. Empty if the text is
/// too long for a QR code.
#[must_use]
pub fn svg(text: &str) -> String {
    match QrCode::with_error_correction_level(text.as_bytes(), EcLevel::M) {
        Ok(code) => code
            .render::<svg::Color<'_>>()
            .min_dimensions(SIZE_MIN, SIZE_MIN)
            .dark_color(svg::Color("#000000"))
            .light_color(svg::Color("#ffffff"))
            .build(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_too_long_for_a_qr_code_is_not_drawn() {
        assert!(svg("bitcoin:bcrt1q?amount=0.00010000").contains("<svg"));
        assert_eq!(svg(&"x".repeat(5_000)), "");
    }
}
