//! Builds the desktop's access list and embeds its configuration. Without the feature `desktop`
//! it does nothing, so that the headless program needs no Tauri.

fn main() {
    #[cfg(feature = "desktop")]
    desktop();
}

#[cfg(feature = "desktop")]
fn desktop() {
    // Paths are the root package's: `tauri.conf.json` lies there, not in `src-tauri`.
    for watched in ["src-tauri/capabilities", "src-tauri/permissions", "tauri.conf.json", "ui/dist"]
    {
        println!("cargo::rerun-if-changed={watched}");
    }
    let attributes = tauri_build::Attributes::new()
        .capabilities_path_pattern("./src-tauri/capabilities/**/*")
        .app_manifest(
            tauri_build::AppManifest::new()
                .permissions_path_pattern("./src-tauri/permissions/**/*.toml"),
        );
    if let Err(error) = tauri_build::try_build(attributes) {
        println!("cargo::error=the desktop's configuration is wrong: {error:#}");
    }
}
