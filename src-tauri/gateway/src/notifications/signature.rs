//! The signatures of notifications: bytes in, header values out. Uses no HTTP, no clock and no
//! secret store.
//!
//! Each notification carries two forms (interface, section 5): `X-BPG-Signature` for existing
//! integrations, and the Standard Webhooks headers, which libraries in every language verify.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, Mac as _};
use sha1::Sha1;
use sha2::Sha256;
use subtle::ConstantTimeEq as _;
use tillgate_domain::id::Id;
use tillgate_domain::time::Timestamp;
use zeroize::Zeroizing;

/// The prefix of a key's text (Standard Webhooks).
const PREFIX: &str = "whsec_";

/// Random bytes in a new key.
pub const KEY_BYTES: usize = 32;

/// The time for which a replaced key still signs, together with its successor (interface, section
/// 5).
const OVERLAP_MS: i64 = 24 * 3_600_000;

/// A key that signs notifications. Its `Debug` shows only its id.
#[derive(Clone)]
pub struct HmacKey {
    id: Id,
    made_at: Timestamp,
    /// The text that the merchant is shown: `whsec_` and the base64 of `bytes`.
    text: Zeroizing<String>,
    /// The key of HMAC-SHA256.
    bytes: Zeroizing<Vec<u8>>,
}

/// The text is not `whsec_` followed by base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error, tillgate_told::Told)]
#[error("an HMAC key is whsec_ followed by base64")]
pub struct NotAKey;

/// The signing key and the keys that rotations replaced.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// The key that signs both forms.
    pub current: HmacKey,
    /// The replaced keys, newest first. Each also signs `webhook-signature` for 24 hours after it
    /// was replaced.
    pub replaced: Vec<HmacKey>,
}

/// The signature headers' values for one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signatures {
    /// `X-BPG-Signature`.
    pub bpg: String,
    /// `webhook-signature`: one value for each key, separated by a space.
    pub webhook: String,
}

impl HmacKey {
    /// A new key from these random bytes.
    #[must_use]
    pub fn new(id: Id, made_at: Timestamp, bytes: &[u8; KEY_BYTES]) -> Self {
        let text = Zeroizing::new(format!("{PREFIX}{}", *Zeroizing::new(BASE64.encode(bytes))));
        Self { id, made_at, text, bytes: Zeroizing::new(bytes.to_vec()) }
    }

    /// Parses a key's text.
    ///
    /// # Errors
    /// [`NotAKey`] for a text of another form.
    pub fn from_text(id: Id, made_at: Timestamp, text: &str) -> Result<Self, NotAKey> {
        let bytes =
            text.strip_prefix(PREFIX).and_then(|coded| BASE64.decode(coded).ok()).ok_or(NotAKey)?;
        if bytes.is_empty() {
            return Err(NotAKey);
        }
        Ok(Self {
            id,
            made_at,
            text: Zeroizing::new(text.to_owned()),
            bytes: Zeroizing::new(bytes),
        })
    }

    /// The id by which the database names the key. It is not secret.
    #[must_use]
    pub const fn id(&self) -> Id {
        self.id
    }

    /// The time when the key was made, on the environment's clock.
    #[must_use]
    pub const fn made_at(&self) -> Timestamp {
        self.made_at
    }

    /// The end of the time in which this key's predecessor still signs.
    #[must_use]
    pub const fn replaced_signs_until(&self) -> Timestamp {
        self.made_at.plus_ms(OVERLAP_MS)
    }

    /// `whsec_` and the base64 of the key's bytes. The merchant is shown this text once.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Debug for HmacKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HmacKey({} [REDACTED])", self.id)
    }
}

impl SigningKeys {
    /// Whether this is the value of `X-BPG-Signature` for a body.
    #[must_use]
    pub fn signed(&self, body: &[u8], signature: &str) -> bool {
        bpg(&self.current.text, body).as_bytes().ct_eq(signature.as_bytes()).into()
    }

    /// Signs one attempt. `timestamp_s` is the value of `webhook-timestamp` (seconds since 1970);
    /// `now` is the environment's clock.
    #[must_use]
    pub fn sign(
        &self,
        webhook_id: &str,
        timestamp_s: i64,
        body: &[u8],
        now: Timestamp,
    ) -> Signatures {
        let mut webhook = standard_webhooks(&self.current.bytes, webhook_id, timestamp_s, body);
        let mut newer = &self.current;
        for key in &self.replaced {
            if now < newer.replaced_signs_until() {
                webhook.push(' ');
                webhook.push_str(&standard_webhooks(&key.bytes, webhook_id, timestamp_s, body));
            }
            newer = key;
        }
        Signatures { bpg: bpg(&self.current.text, body), webhook }
    }
}

/// HMAC-SHA1 of the body, keyed with the key's whole text.
fn bpg(key_text: &str, body: &[u8]) -> String {
    let mut mac =
        <Hmac<Sha1>>::new_from_slice(key_text.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

/// `v1,` and HMAC-SHA256 of `id.timestamp.body`, keyed with the decoded bytes.
fn standard_webhooks(key: &[u8], webhook_id: &str, timestamp_s: i64, body: &[u8]) -> String {
    let mut mac = <Hmac<Sha256>>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(format!("{webhook_id}.{timestamp_s}.").as_bytes());
    mac.update(body);
    format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_ms(1_700_000_000_000);
    /// The example of the Standard Webhooks specification.
    const PUBLISHED: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    fn key(n: u8) -> HmacKey {
        HmacKey::new(Id::from_bytes([n; 20]), NOW, &[n; KEY_BYTES])
    }

    #[test]
    fn the_published_example_of_standard_webhooks_is_reproduced() {
        let keys = SigningKeys {
            current: HmacKey::from_text(Id::from_bytes([1; 20]), NOW, PUBLISHED).unwrap(),
            replaced: Vec::new(),
        };
        let signed = keys.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, BODY, NOW);
        assert_eq!(signed.webhook, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    /// The expected value was computed with `openssl dgst -sha1 -hmac`.
    #[test]
    fn x_bpg_signature_is_keyed_with_the_whole_text() {
        assert_eq!(bpg(PUBLISHED, BODY), "2da57a63580e1b8259222d7c976d87cd11bdfb5b");
    }

    #[test]
    fn a_keys_text_encodes_32_bytes_and_parses_to_the_same_key() {
        let made = key(7);
        assert_eq!(made.text().len(), 6 + 44);
        let read = HmacKey::from_text(made.id(), NOW, made.text()).unwrap();
        assert_eq!(read.bytes, made.bytes);
    }

    #[test]
    fn texts_without_prefix_or_base64_are_no_keys() {
        for text in ["", "whsec_", "whsec_!", "secret", "WHSEC_AAAA"] {
            assert!(HmacKey::from_text(Id::from_bytes([1; 20]), NOW, text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_replaced_key_signs_for_a_day_but_not_x_bpg_signature() {
        let keys = SigningKeys { current: key(2), replaced: vec![key(1)] };
        let alone =
            |n| SigningKeys { current: key(n), replaced: Vec::new() }.sign("id", 5, BODY, NOW);
        let both = keys.sign("id", 5, BODY, NOW.plus_ms(OVERLAP_MS - 1));
        assert_eq!(both.webhook, format!("{} {}", alone(2).webhook, alone(1).webhook));
        assert_eq!(both.bpg, alone(2).bpg);
        assert_eq!(keys.sign("id", 5, BODY, NOW.plus_ms(OVERLAP_MS)), alone(2));
    }

    #[test]
    fn the_debug_form_of_keys_hides_their_text() {
        assert!(
            !format!("{:?}", SigningKeys { current: key(1), replaced: Vec::new() })
                .contains("whsec")
        );
    }
}
