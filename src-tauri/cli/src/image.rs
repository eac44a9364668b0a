//! An image file as the value of a setting: a `data:` URL.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tillgate_machine::private_file;

/// The largest image, in bytes. In base64 it just fits into the 48 KiB of the setting
/// `merchantLogo`.
const IMAGE_MAX: u64 = 36_800;

/// Why a file cannot be the value of a setting.
#[derive(Debug, thiserror::Error, tillgate_told::Told)]
pub enum ImageError {
    #[error("the file cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("the file is no PNG, JPEG, WebP or SVG image")]
    Kind,
    #[error("the file is larger than the 36,800 bytes that an image may have")]
    TooLarge,
}

/// The image in the file at `path` as a `data:` URL.
///
/// # Errors
/// [`ImageError`].
pub fn data_url(path: &str) -> Result<String, ImageError> {
    private_file::check_regular(Path::new(path))?;
    let mut image = Vec::new();
    File::open(path)?.take(IMAGE_MAX + 1).read_to_end(&mut image)?;
    let kind = kind(&image).ok_or(ImageError::Kind)?;
    if u64::try_from(image.len()).is_ok_and(|length| length > IMAGE_MAX) {
        return Err(ImageError::TooLarge);
    }
    Ok(format!("data:image/{kind};base64,{}", BASE64_STANDARD.encode(&image)))
}

/// The kind of an image by its contents, not by the file's name.
fn kind(image: &[u8]) -> Option<&'static str> {
    match image {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpeg"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => {
            std::str::from_utf8(image).is_ok_and(|text| text.contains("<svg")).then_some("svg+xml")
        }
    }
}

#[cfg(test)]
mod tests {
    use tillgate_machine::environment::Environment;

    use super::*;
    use tillgate_gateway::settings::{SETTINGS, Settings};

    #[test]
    fn an_image_one_byte_above_the_bound_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("logo.svg");
        let image = |bytes: usize| format!("{:<bytes$}", "<svg/>");
        std::fs::write(&file, image(36_800)).unwrap();
        let value = data_url(file.to_str().unwrap()).unwrap();
        let setting = SETTINGS.iter().find(|setting| setting.name == "merchantLogo").unwrap();
        setting.apply(&mut Settings::defaults(Environment::Test), &value).unwrap();
        std::fs::write(&file, image(36_801)).unwrap();
        let refused = data_url(file.to_str().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("36,800 bytes"), "{refused}");
    }

    #[test]
    fn the_content_tells_the_kind_of_an_image() {
        for (image, known) in [
            (b"\x89PNG\r\n\x1a\n....".as_slice(), Some("png")),
            (b"\xff\xd8\xff\xe0", Some("jpeg")),
            (b"RIFF....WEBPVP8 ", Some("webp")),
            (
                b"<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>",
                Some("svg+xml"),
            ),
            (b"GIF89a", None),
            (b"", None),
        ] {
            assert_eq!(kind(image), known, "{}", String::from_utf8_lossy(image));
        }
    }
}
