//! Import rules, checked on the sources: no cycles among files, no upward imports among folders,
//! and no imports from a module's own parent.
//!
//! Paths count in expressions as well as in `use`. A name that a module re-exports from a child
//! counts as the child's. Tests may import freely.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};

/// The gateway's folders; each may import only from the folders before it.
const FROM_THE_BOTTOM: &[&str] = &[
    "error_type",
    "answer",
    "canonical_json",
    "staff_reason",
    "rates",
    "settings",
    "access",
    "records",
    "wallet",
    "gateway",
    "funds",
    "notifications",
    "ledger",
    "setup",
    "settlement",
    "watcher",
    "payments",
    "payouts",
    "anomalies",
    "statement",
    "takings",
    "books",
    "labels",
    "sender",
    "backup",
    "app",
    "open",
    "sandbox",
];

/// The crates with their root files. `main.rs` and `headless.rs` only call their libraries.
const CRATES: &[(&str, &str)] = &[
    ("src-tauri/domain/src", "lib.rs"),
    ("src-tauri/machine/src", "lib.rs"),
    ("src-tauri/store/src", "lib.rs"),
    ("src-tauri/chain/src", "lib.rs"),
    ("src-tauri/sandbox/src", "lib.rs"),
    ("src-tauri/gateway/src", "lib.rs"),
    ("src-tauri/http/src", "lib.rs"),
    ("src-tauri/console/src", "lib.rs"),
    ("src-tauri/cli/src", "lib.rs"),
    ("src-tauri/nodes/src", "lib.rs"),
    ("src-tauri/bench/src", "main.rs"),
    ("src-tauri/shell", "lib.rs"),
];

/// A module's path from its crate's root: `["store", "payments"]`.
type Name = Vec<String>;

/// A path as written, from its first segment.
type Written = Vec<String>;

/// One source file.
struct Module {
    paths: BTreeSet<Written>,
    /// The path behind each re-exported name.
    reexports: BTreeMap<String, Written>,
}

/// The modules of one crate.
struct Modules(BTreeMap<Name, Module>);

#[derive(Default)]
struct Found {
    paths: BTreeSet<Written>,
    reexports: BTreeMap<String, Written>,
    /// The number of inline modules around the visited item.
    inline_depth: usize,
}

impl Found {
    /// Adds a path. Inside an inline module, `super` may lead no further than its file.
    fn add(&mut self, mut path: Written) {
        let supers = path.iter().take_while(|segment| *segment == "super").count();
        let within = supers.min(self.inline_depth);
        path.drain(..within);
        if within > 0 && within == supers {
            path.insert(0, "self".to_owned());
        }
        self.paths.insert(path);
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_for_tests(&module.attrs) {
            self.inline_depth += 1;
            visit::visit_item_mod(self, module);
            self.inline_depth -= 1;
        }
    }

    fn visit_item_impl(&mut self, block: &'ast syn::ItemImpl) {
        if !is_for_tests(&block.attrs) {
            visit::visit_item_impl(self, block);
        }
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        if is_for_tests(&import.attrs) {
            return;
        }
        let mut leaves = Vec::new();
        add_leaves(&import.tree, &mut Vec::new(), &mut leaves);
        for (name, path) in leaves {
            if !matches!(import.vis, syn::Visibility::Inherited) {
                self.reexports.insert(name, path.clone());
            }
            self.add(path);
        }
    }

    // `pub(in path)` imports nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }
}

fn add_leaves(tree: &syn::UseTree, before: &mut Written, leaves: &mut Vec<(String, Written)>) {
    let with =
        |last: &syn::Ident| before.iter().cloned().chain([last.to_string()]).collect::<Written>();
    match tree {
        syn::UseTree::Path(path) => {
            before.push(path.ident.to_string());
            add_leaves(&path.tree, before, leaves);
            before.pop();
        }
        // `self` names the module before it.
        syn::UseTree::Name(name) if name.ident == "self" => {
            leaves.push((before.last().cloned().unwrap_or_default(), before.clone()));
        }
        syn::UseTree::Name(name) => leaves.push((name.ident.to_string(), with(&name.ident))),
        syn::UseTree::Rename(rename) => {
            leaves.push((rename.rename.to_string(), with(&rename.ident)))
        }
        syn::UseTree::Glob(_) => leaves.push(("*".to_owned(), before.clone())),
        syn::UseTree::Group(group) => {
            group.items.iter().for_each(|item| add_leaves(item, before, leaves))
        }
    }
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition =
            attribute.meta.require_list().map(|list| list.tokens.to_string()).unwrap_or_default();
        let begins = |with: &str| condition.starts_with(with);
        attribute.path().is_ident("cfg")
            && (condition == "test" || begins("all (test") || begins("any (test"))
    })
}

impl Modules {
    fn of_crate(folder: &str, root_file: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut modules = Self(BTreeMap::new());
        modules.read(&folder.join(root_file), &folder, Vec::new());
        modules
    }

    fn read(&mut self, file: &Path, children: &Path, name: Name) {
        let source = syn::parse_file(&fs::read_to_string(file).unwrap()).unwrap();
        let mut found = Found::default();
        found.visit_file(&source);
        for item in &source.items {
            let syn::Item::Mod(child) = item else { continue };
            if child.content.is_some() || is_for_tests(&child.attrs) {
                continue;
            }
            let below = child.ident.to_string();
            let at: PathBuf = children.join(format!("{below}.rs"));
            self.read(
                &at,
                &children.join(&below),
                name.iter().cloned().chain([below.clone()]).collect(),
            );
        }
        self.0.insert(name, Module { paths: found.paths, reexports: found.reexports });
    }

    /// The module of this crate to which a path written in `from` leads; `None` for another
    /// crate's.
    fn target(&self, from: &Name, path: &[String]) -> Option<Name> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(Vec::new(), rest),
            "self" => self.walk(from.clone(), rest),
            "super" => {
                let mut parent = from.clone();
                parent.pop()?;
                match rest.first().map(String::as_str) {
                    Some("super") => self.target(&parent, rest),
                    _ => self.walk(parent, rest),
                }
            }
            child => {
                let child: Name = from.iter().cloned().chain([child.to_owned()]).collect();
                self.0.contains_key(&child).then(|| self.walk(child, rest)).flatten()
            }
        }
    }

    fn walk(&self, mut at: Name, rest: &[String]) -> Option<Name> {
        for (depth, segment) in rest.iter().enumerate() {
            let child: Name = at.iter().cloned().chain([segment.clone()]).collect();
            if self.0.contains_key(&child) {
                at = child;
                continue;
            }
            return match self.0[&at].reexports.get(segment) {
                Some(path) if *path != rest[depth..] => self.target(&at, path).or(Some(at)),
                _ => Some(at),
            };
        }
        Some(at)
    }

    /// The imports of each module. The root file of a crate only names its modules.
    fn imports(&self) -> BTreeMap<&Name, BTreeSet<Name>> {
        let imports = |name: &Name, module: &Module| {
            let targets = module.paths.iter().filter_map(|path| self.target(name, path));
            targets.filter(|target| target != name && !name.is_empty()).collect()
        };
        self.0.iter().map(|(name, module)| (name, imports(name, module))).collect()
    }
}

/// The modules of an import cycle, if there is one.
fn cycle(imports: &BTreeMap<&Name, BTreeSet<Name>>) -> Option<Vec<String>> {
    fn search<'a>(
        at: &'a Name,
        imports: &'a BTreeMap<&Name, BTreeSet<Name>>,
        way: &mut Vec<&'a Name>,
        done: &mut BTreeSet<&'a Name>,
    ) -> bool {
        if let Some(begin) = way.iter().position(|before| *before == at) {
            way.drain(..begin);
            return true;
        }
        if !done.insert(at) {
            return false;
        }
        way.push(at);
        let found = imports
            .get(at)
            .is_some_and(|next| next.iter().any(|next| search(next, imports, way, done)));
        if !found {
            way.pop();
        }
        found
    }
    let mut done = BTreeSet::new();
    imports.keys().find_map(|at| {
        let mut way = Vec::new();
        search(at, imports, &mut way, &mut done)
            .then(|| way.into_iter().map(|name| name.join("::")).collect())
    })
}

#[test]
fn imports_have_no_cycles() {
    for (folder, root_file) in CRATES {
        let modules = Modules::of_crate(folder, root_file);
        let imports = modules.imports();
        assert!(
            modules.0.len() < 2 || imports.values().any(|targets| !targets.is_empty()),
            "{folder}: nothing read"
        );
        assert_eq!(cycle(&imports), None, "{folder}");
    }
}

#[test]
fn an_import_cycle_is_found() {
    let name = |text: &str| vec![text.to_owned()];
    let (a, b, c) = (name("a"), name("b"), name("c"));
    let straight = BTreeMap::from([
        (&a, BTreeSet::from([b.clone(), c.clone()])),
        (&b, BTreeSet::from([c.clone()])),
    ]);
    assert_eq!(cycle(&straight), None);
    let round = BTreeMap::from([
        (&a, BTreeSet::from([b.clone()])),
        (&b, BTreeSet::from([c.clone()])),
        (&c, BTreeSet::from([b.clone()])),
    ]);
    assert_eq!(cycle(&round), Some(vec!["b".to_owned(), "c".to_owned()]));
}

#[test]
fn gateway_folders_import_only_lower_folders() {
    let modules = Modules::of_crate("src-tauri/gateway/src", "lib.rs");
    let floor = |name: &Name| {
        let folder = name.first()?;
        let floor = FROM_THE_BOTTOM.iter().position(|known| known == folder);
        Some(floor.unwrap_or_else(|| panic!("{folder} has no place in the order of folders")))
    };
    let imports = modules.imports();
    let upwards: Vec<String> = imports
        .iter()
        .flat_map(|(name, targets)| targets.iter().map(move |target| (*name, target)))
        .filter(|(name, target)| floor(name) < floor(target))
        .map(|(name, target)| format!("{} imports {}", name.join("::"), target.join("::")))
        .collect();
    assert_eq!(upwards, Vec::<String>::new());
}

/// Items that sibling modules share have a file of their own.
#[test]
fn modules_import_nothing_from_their_parents() {
    let mut upwards = Vec::new();
    for (folder, root_file) in CRATES {
        let modules = Modules::of_crate(folder, root_file);
        for (name, module) in &modules.0 {
            let leads_up = |path: &&Written| {
                modules
                    .target(name, path)
                    .is_some_and(|target| target.len() < name.len() && name.starts_with(&target))
            };
            let found = module.paths.iter().filter(leads_up);
            upwards.extend(
                found.map(|path| {
                    format!("{folder}: {} imports {}", name.join("::"), path.join("::"))
                }),
            );
        }
    }
    assert_eq!(upwards, Vec::<String>::new());
}
