//! Finds, reads and closes the program's window over X11, as a window manager would.

use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, CLIENT_MESSAGE_EVENT, ClientMessageData, ClientMessageEvent,
    ConnectionExt as _, EventMask, ImageFormat, MapState, Window,
};
use x11rb::rust_connection::RustConnection;

/// A connection to the session's display.
pub struct Display {
    connection: RustConnection,
    root: Window,
}

impl Display {
    pub fn open() -> Self {
        let (connection, screen) = x11rb::connect(None).unwrap();
        let root = connection.setup().roots[screen].root;
        Self { connection, root }
    }

    /// Whether the program's window is on the screen.
    pub fn shows_window(&self) -> bool {
        self.window().is_some_and(|window| {
            let attributes = self.connection.get_window_attributes(window).unwrap().reply();
            attributes.is_ok_and(|attributes| attributes.map_state == MapState::VIEWABLE)
        })
    }

    /// The window's title.
    pub fn title(&self) -> String {
        let title = self.window().map(|window| self.property(window, AtomEnum::WM_NAME.into()));
        String::from_utf8_lossy(&title.unwrap_or_default()).into_owned()
    }

    /// Presses the close button that a window manager would draw.
    pub fn close_window(&self) {
        let window = self.window().unwrap();
        let event = ClientMessageEvent {
            response_type: CLIENT_MESSAGE_EVENT,
            format: 32,
            sequence: 0,
            window,
            type_: self.atom("WM_PROTOCOLS"),
            data: ClientMessageData::from([self.atom("WM_DELETE_WINDOW"), 0, 0, 0, 0]),
        };
        self.connection.send_event(false, window, EventMask::NO_EVENT, event).unwrap();
        self.connection.flush().unwrap();
    }

    /// Whether a window whose title begins so is on the screen.
    pub fn shows_titled(&self, beginning: &str) -> bool {
        let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
        tree.children.into_iter().any(|window| {
            let attributes = self.connection.get_window_attributes(window).unwrap().reply();
            self.property(window, AtomEnum::WM_NAME.into()).starts_with(beginning.as_bytes())
                && attributes.is_ok_and(|attributes| attributes.map_state == MapState::VIEWABLE)
        })
    }

    /// A picture of the window as a PNG.
    pub fn picture(&self) -> Vec<u8> {
        let window = self.window().unwrap();
        let size = self.connection.get_geometry(window).unwrap().reply().unwrap();
        let (width, height) = (size.width, size.height);
        let pixels = self
            .connection
            .get_image(ImageFormat::Z_PIXMAP, window, 0, 0, width, height, u32::MAX)
            .unwrap();
        // The display's pixels are blue, green, red, and an unused byte.
        let rgb: Vec<u8> = pixels
            .reply()
            .unwrap()
            .data
            .chunks_exact(4)
            .flat_map(|it| [it[2], it[1], it[0]])
            .collect();
        let mut picture = Vec::new();
        let mut encoder = png::Encoder::new(&mut picture, width.into(), height.into());
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        // Areas of one colour are smaller without a filter.
        encoder.set_filter(png::Filter::NoFilter);
        encoder.write_header().unwrap().write_image_data(&rgb).unwrap();
        picture
    }

    /// The window's width and height in pixels.
    pub fn size(&self) -> (u32, u32) {
        let size = self.connection.get_geometry(self.window().unwrap()).unwrap().reply().unwrap();
        (size.width.into(), size.height.into())
    }

    fn window(&self) -> Option<Window> {
        let tree = self.connection.query_tree(self.root).unwrap().reply().unwrap();
        tree.children.into_iter().find(|window| {
            // GTK also makes helper windows with the same title. They have no WM_PROTOCOLS.
            self.property(*window, AtomEnum::WM_NAME.into()).starts_with(b"Tillgate")
                && !self.property(*window, self.atom("WM_PROTOCOLS")).is_empty()
        })
    }

    /// A property of a window; empty if it is not set.
    fn property(&self, window: Window, name: Atom) -> Vec<u8> {
        let property = self
            .connection
            .get_property(false, window, name, AtomEnum::ANY, 0, 64)
            .unwrap()
            .reply();
        property.map(|property| property.value).unwrap_or_default()
    }

    fn atom(&self, name: &str) -> u32 {
        self.connection.intern_atom(false, name.as_bytes()).unwrap().reply().unwrap().atom
    }
}
