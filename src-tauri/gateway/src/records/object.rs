//! A JSON object that is written member by member, so that numbers keep their exact text.

/// A JSON object under construction.
pub struct Object {
    out: String,
}

impl Object {
    pub fn new() -> Self {
        let mut out = String::with_capacity(1_536);
        out.push('{');
        Self { out }
    }

    /// A string.
    pub fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        push_string(&mut self.out, value);
    }

    /// A string; adds no member for `None`.
    pub fn optional_text(&mut self, name: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    /// A number, array or object given as JSON text.
    pub fn raw(&mut self, name: &'static str, json: &str) {
        self.name(name);
        self.out.push_str(json);
    }

    /// An array of JSON texts.
    pub fn array(&mut self, name: &'static str, items: impl IntoIterator<Item = String>) {
        self.name(name);
        self.out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.out.push_str(&item);
        }
        self.out.push(']');
    }

    pub fn finish(mut self) -> String {
        self.out.push('}');
        self.out
    }

    /// Names are constants of this program, so none needs escaping.
    fn name(&mut self, name: &'static str) {
        self.out.push_str(if self.out.len() > 1 { ",\"" } else { "\"" });
        self.out.push_str(name);
        self.out.push_str("\":");
    }
}

fn push_string(out: &mut String, value: &str) {
    if value.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        out.push_str(&serde_json::Value::from(value).to_string());
    } else {
        out.push('"');
        out.push_str(value);
        out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_read_back_from_the_object() {
        for text in ["", "plain", "quote \" back \\ slash", "line\nbreak\ttab\u{1}", "é🧡"] {
            let mut object = Object::new();
            object.text("text", text);
            object.raw("number", "0.03444190");
            let read: serde_json::Value = serde_json::from_str(&object.finish()).unwrap();
            assert_eq!(read["text"], text);
            assert_eq!(read["number"].to_string(), "0.03444190");
        }
    }
}
