//! An image file as the value of a setting: a `data:` URL. The setting itself judges how large it may be.

use std::fs::File;
use std::io::Read as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// Far above what any setting takes; more is not read.
const READ_MAX: u64 = 1024 * 1024;

/// Why a file is no value.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImageError {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Read(#[from] std::io::Error),
    /// It is no image of a kind that is taken.
    #[error("it is no PNG, JPEG, WebP or SVG image")]
    Kind,
}

/// The image in the file at `path` as a `data:` URL.
///
/// # Errors
/// [`ImageError`].
pub(super) fn data_url(path: &str) -> Result<String, ImageError> {
    let mut image = Vec::new();
    File::open(path)?.take(READ_MAX).read_to_end(&mut image)?;
    let kind = kind(&image).ok_or(ImageError::Kind)?;
    Ok(format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(&image)))
}

/// By what the file holds, whatever it is called.
fn kind(image: &[u8]) -> Option<&'static str> {
    match image {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => std::str::from_utf8(image).is_ok_and(|text| text.contains("<svg")).then_some("svg+xml"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_what_they_hold() {
        for (image, known) in [
            (b"\x89PNG\r\n\x1a\n....".as_slice(), Some("png")),
            (b"\xff\xd8\xff\xe0", Some("jpeg")),
            (b"RIFF....WEBPVP8 ", Some("webp")),
            (b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>", Some("svg+xml")),
            (b"GIF89a", None),
            (b"", None),
        ] {
            assert_eq!(kind(image), known, "{}", String::from_utf8_lossy(image));
        }
    }
}
