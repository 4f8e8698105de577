//! From definitions as written to the resolved [`Model`]: every reference is checked, every rule of
//! naming and shape enforced, and every fault reported. Knows no file and no output.

mod checks;
mod hooks;
mod methods;
mod name;
mod types;

pub(crate) use self::name::{is_reserved_type, is_type_word, is_wire_character};

use std::collections::{BTreeMap, HashMap, HashSet};

use self::name::Namer;
use crate::{
    definition::{Bound, Definitions, Item, Items},
    diagnostic::{Code, Diagnostics},
    model::{
        Class, Doc, Document, Enum, EnumSource, EnumValue, ErrorDef, Limit, Model, Module, Name,
        Package, PayloadsDocument, Protocol, Slot, Timeout,
    },
    names,
    source::{At, Spanned},
};

/// Name of the enum of all hooks.
pub(crate) const HOOK_POINT: &str = "HookPoint";
/// Name of the enum of all errors.
pub(crate) const ERROR_REASON: &str = "ErrorReason";

/// Resolves definitions. The model is sound only if nothing was reported.
pub(crate) fn resolve(definitions: &Definitions, diagnostics: &mut Diagnostics) -> Model {
    let mut resolver = Resolver {
        definitions,
        diagnostics,
        kinds: HashMap::new(),
        used: HashSet::new(),
    };
    resolver.run()
}

/// What a definition name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Scalar,
    Enum,
    Type,
}

struct Resolver<'a> {
    definitions: &'a Definitions,
    diagnostics: &'a mut Diagnostics,
    /// Scalars, enums and types share one namespace.
    kinds: HashMap<String, Kind>,
    /// Names of scalars, enums, types, modules, classes and timeouts that something refers to, each
    /// behind a word for its kind.
    used: HashSet<(&'static str, String)>,
}

impl Resolver<'_> {
    fn run(&mut self) -> Model {
        let definitions = self.definitions;
        self.declare();

        let protocol = self.protocol();
        let package = self.package();
        let payloads = self.payloads();
        let modules = self.modules();
        let classes = self.classes();
        let limits = self.limits();
        let errors = self.errors();
        let timeouts = self.timeouts();
        let slots = self.slots();
        let mut enums = self.enums(&modules);
        self.built_in_enums(&mut enums, &errors);
        let scalars = self.scalars(&modules);
        let types = self.types(&modules, &enums);
        let methods = self.methods(&classes, &types);
        let hooks = self.hooks(&types, &enums, &timeouts, &slots);
        let diagrams = self.diagrams(&methods);

        let model = Model {
            protocol,
            package,
            payloads,
            modules,
            classes,
            limits,
            scalars,
            enums,
            types,
            methods,
            errors,
            timeouts,
            slots,
            hooks,
            diagrams,
        };
        self.rust_type_names(&model);
        // A name that was not understood makes what it stood for look unused.
        if !self.diagnostics.leave_names_open() {
            self.reachable(&model);
            self.unused(definitions);
        }
        if self.diagnostics.is_empty() {
            self.examples(&model);
        }
        model
    }

    /// Enters all names of scalars, enums and types, and reports those that stand twice.
    fn declare(&mut self) {
        let definitions = self.definitions;
        let mut places: BTreeMap<&str, (Kind, At)> = BTreeMap::new();
        let names = definitions
            .scalars
            .iter()
            .map(|item| (&item.name, Kind::Scalar))
            .chain(
                definitions
                    .enums
                    .iter()
                    .map(|item| (&item.name, Kind::Enum)),
            )
            .chain(
                definitions
                    .types
                    .iter()
                    .map(|item| (&item.name, Kind::Type)),
            );
        for (name, kind) in names {
            if let Some(&(other, first)) = places.get(name.value.as_str()) {
                // Two of one kind are reported with the items of that kind.
                if other != kind {
                    self.duplicate("type, enum or scalar", name, first);
                }
                continue;
            }
            places.insert(&name.value, (kind, name.at));
            if matches!(name.value.as_str(), HOOK_POINT | ERROR_REASON) {
                self.diagnostics.report(
                    Code::ReservedName,
                    name.at,
                    format!("`{}` is built in", name.value),
                    "it is the enum of all hooks or of all errors; choose another name",
                );
            }
            self.kinds.insert(name.value.clone(), kind);
        }
        if !definitions.hooks.is_empty() {
            self.kinds.insert(HOOK_POINT.to_owned(), Kind::Enum);
        }
        if !definitions.errors.is_empty() {
            self.kinds.insert(ERROR_REASON.to_owned(), Kind::Enum);
        }
    }

    fn duplicate(&mut self, what: &str, name: &Spanned<String>, first: At) {
        self.diagnostics
            .report(
                Code::Duplicate,
                name.at,
                format!("the {what} `{}` is defined twice", name.value),
                "remove or rename one of the two",
            )
            .label("defined again here")
            .also(first, "first defined here");
    }

    /// Items sorted by name; of several with one name the first counts and the others are reported.
    fn sorted<'d, T>(&mut self, what: &str, items: &'d Items<T>) -> Vec<&'d Item<T>> {
        let mut sorted: Vec<&Item<T>> = items.iter().collect();
        sorted.sort_by(|a, b| (&a.name.value, a.name.at).cmp(&(&b.name.value, b.name.at)));
        let mut kept: Vec<&Item<T>> = Vec::with_capacity(sorted.len());
        for item in sorted {
            match kept.last() {
                Some(last) if last.name.value == item.name.value => {
                    let first = last.name.at;
                    self.duplicate(what, &item.name, first);
                }
                _ => kept.push(item),
            }
        }
        kept
    }

    /// The `order` of items counts from 1 without gaps, so that each value says one thing only.
    fn dense<T>(
        &mut self,
        what: &str,
        items: &Items<T>,
        order: impl Fn(&T) -> Option<&Spanned<u64>>,
    ) {
        let mut given: Vec<&Spanned<u64>> =
            items.iter().filter_map(|item| order(&item.def)).collect();
        given.sort_by_key(|order| (order.value, order.at));
        for (order, expected) in given.into_iter().zip(1..) {
            if order.value != expected {
                self.diagnostics.report(
                    Code::Conflict,
                    order.at,
                    format!(
                        "the `order` of a {what} is {} where {expected} comes next",
                        order.value
                    ),
                    format!(
                        "number the items of this kind from 1 to {} without gaps",
                        items.len()
                    ),
                );
                return;
            }
        }
    }

    fn use_name(&mut self, kind: &'static str, name: &str) {
        self.used.insert((kind, name.to_owned()));
    }

    // Sections that stand once.

    fn once<'d, T>(&mut self, what: &str, found: &'d [(At, T)], needed: bool) -> Option<&'d T> {
        if let [(first, _), again, ..] = found {
            self.diagnostics
                .report(
                    Code::Duplicate,
                    again.0,
                    format!("`[{what}]` stands twice"),
                    "keep one of the two",
                )
                .label("defined again here")
                .also(*first, "first defined here");
        }
        if found.is_empty() && needed {
            let at = At {
                file: 0,
                start: 0,
                end: 0,
            };
            self.diagnostics.report(
                Code::MissingKey,
                at,
                format!("no definition file has `[{what}]`"),
                format!("add a table `[{what}]`, by convention in `protocol.toml`"),
            );
        }
        found.first().map(|(_, def)| def)
    }

    fn protocol(&mut self) -> Protocol {
        let def = self.once("protocol", &self.definitions.protocol, true);
        let id = self.canonical(def.and_then(|def| def.id.as_ref()));
        let title = self.canonical(def.and_then(|def| def.title.as_ref()));
        Protocol {
            id,
            title,
            major: given(def.and_then(|def| def.major.as_ref())),
            doc: doc(def.and_then(|def| def.doc.as_ref())),
        }
    }

    fn package(&mut self) -> Package {
        let def = self.once("package", &self.definitions.package, true);
        if let Some(name) = def.and_then(|def| def.name.as_ref())
            && (name.value.is_empty()
                || name.value.starts_with(|c: char| !c.is_ascii_lowercase())
                || !name.value.bytes().all(|b| {
                    b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_'
                }))
        {
            self.diagnostics.report(
                Code::BadName,
                name.at,
                format!("`{}` is no package name", name.value),
                "begin with a small letter, then use small letters, digits and dashes",
            );
        }
        if let Some(version) = def.and_then(|def| def.version.as_ref()) {
            let mut parts = version.value.split('.');
            let is_number = |part: &str| {
                !part.is_empty()
                    && part.bytes().all(|b| b.is_ascii_digit())
                    && (part == "0" || !part.starts_with('0'))
            };
            if version.value.matches('.').count() != 2 || !parts.all(is_number) {
                self.diagnostics.report(
                    Code::BadName,
                    version.at,
                    format!("`{}` is no version of a package", version.value),
                    "write three numbers: `0.1.0`",
                );
            }
        }
        let directory = self.path(def.and_then(|def| def.directory.as_ref()));
        let index = self.path(def.and_then(|def| def.index.as_ref()));
        if let Some(index) = def.and_then(|def| def.index.as_ref())
            && !index.value.contains(".generated.")
        {
            self.diagnostics.report(
                Code::BadName,
                index.at,
                "the path of the index does not say that it is generated",
                "put `.generated.` into its file name, such as `docs/PROTOCOL.generated.md`",
            );
        }
        Package {
            name: given(def.and_then(|def| def.name.as_ref())),
            version: given(def.and_then(|def| def.version.as_ref())),
            description: given(def.and_then(|def| def.description.as_ref())),
            repository: def
                .and_then(|def| def.repository.as_ref())
                .map(|text| text.value.clone()),
            directory,
            index,
        }
    }

    fn payloads(&mut self) -> Option<PayloadsDocument> {
        let def = self.once("payloads", &self.definitions.payloads, false)?;
        if let Some(name) = &def.error_data {
            self.object_name(name, "the type of the structured data of an error");
        }
        Some(PayloadsDocument {
            id: self.canonical(def.id.as_ref()),
            title: self.canonical(def.title.as_ref()),
            error_data: def.error_data.as_ref().map(|name| name.value.clone()),
            decisions: def.decisions.as_ref().map(|name| name.value.clone()),
        })
    }

    /// A path below the root, with `/` and without `..`.
    fn path(&mut self, text: Option<&Spanned<String>>) -> String {
        let Some(text) = text else {
            return String::new();
        };
        let sound = !text.value.is_empty()
            && text
                .value
                .split('/')
                .all(|part| !part.is_empty() && part != "." && part != "..")
            && !text.value.contains(['\\', ':']);
        if !sound {
            self.diagnostics.report(
                Code::BadName,
                text.at,
                format!("`{}` is no path below the root", text.value),
                "write a relative path with `/` and without `..`",
            );
        }
        text.value.clone()
    }

    /// Text that stands in a canonical document.
    fn canonical(&mut self, text: Option<&Spanned<String>>) -> String {
        let Some(text) = text else {
            return String::new();
        };
        let bad = text
            .value
            .chars()
            .find(|&c| c.is_control() || matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'));
        if let Some(bad) = bad {
            self.diagnostics.report(
                Code::BadCharacter,
                text.at,
                format!(
                    "U+{:04X} cannot stand in a canonical document",
                    u32::from(bad)
                ),
                "JSON writers escape control characters, `<`, `>`, `&`, U+2028 and U+2029 in \
                 different ways, so the contract has none of them; use other words",
            );
        }
        text.value.clone()
    }

    // Sections of named items.

    fn modules(&mut self) -> Vec<Module> {
        let mut namer = Namer::new("module");
        let items = self.sorted("module", &self.definitions.modules);
        let mut modules = Vec::new();
        for item in items {
            let at = item.name.at;
            let name = namer.name(self, &item.name, None, names::snake);
            if name.rust != name.wire || matches!(name.rust.as_str(), "mod" | "lib") {
                self.diagnostics.report(
                    Code::BadName,
                    at,
                    format!("`{}` is no name for a Rust module", name.wire),
                    "use small letters, digits and underscores, and no keyword",
                );
            }
            let document = match item.def.document.as_ref().map(|text| text.value.as_str()) {
                Some("contract") | None => Document::Contract,
                Some("payloads") => {
                    if self.definitions.payloads.is_empty() {
                        self.diagnostics.report(
                            Code::MissingKey,
                            at,
                            format!(
                                "module `{}` stands in the payloads document, and there is no `[payloads]`",
                                name.wire
                            ),
                            "add a table `[payloads]` with `id` and `title`",
                        );
                    }
                    Document::Payloads
                }
                Some(_) => {
                    let text = item.def.document.as_ref().expect("matched as given");
                    self.diagnostics.report(
                        Code::WrongType,
                        text.at,
                        format!("there is no document `{}`", text.value),
                        "write `contract` or `payloads`",
                    );
                    Document::Contract
                }
            };
            modules.push((
                given(item.def.order.as_ref()),
                Module {
                    name: name.wire,
                    document,
                    doc: doc(item.def.doc.as_ref()),
                },
            ));
        }
        self.dense("module", &self.definitions.modules, |def| {
            def.order.as_ref()
        });
        by_order(modules, |module| module.name.clone())
    }

    fn classes(&mut self) -> Vec<Class> {
        let mut namer = Namer::new("class");
        let mut classes = Vec::new();
        for item in self.sorted("class", &self.definitions.classes) {
            let name = namer.name(self, &item.name, item.def.rust.as_ref(), names::upper_camel);
            classes.push((
                given(item.def.order.as_ref()),
                Class {
                    name,
                    doc: doc(item.def.doc.as_ref()),
                },
            ));
        }
        self.dense("class", &self.definitions.classes, |def| def.order.as_ref());
        by_order(classes, |class| class.name.wire.clone())
    }

    fn limit(&mut self, value: Option<&Spanned<Bound>>) -> u64 {
        let Some(given) = value else {
            return 0;
        };
        u64::try_from(given.value.0).unwrap_or_else(|_| {
            self.diagnostics.report(
                Code::BadBound,
                given.at,
                "a limit is an integer from 0 to 18446744073709551615",
                "write such an integer",
            );
            0
        })
    }

    fn limits(&mut self) -> Vec<Limit> {
        let mut namer = Namer::new("limit");
        let mut limits = Vec::new();
        for item in self.sorted("limit", &self.definitions.limits) {
            let rust = item.def.rust.as_ref();
            limits.push(Limit {
                name: namer.name(self, &item.name, rust, names::screaming_snake),
                value: self.limit(item.def.value.as_ref()),
                unit: given(item.def.unit.as_ref()),
                doc: doc(item.def.doc.as_ref()),
            });
        }
        limits
    }

    fn errors(&mut self) -> Vec<ErrorDef> {
        let mut namer = Namer::new("error");
        let mut errors = Vec::new();
        for item in self.sorted("error", &self.definitions.errors) {
            let rust = item.def.rust.as_ref();
            errors.push(ErrorDef {
                name: namer.name(self, &item.name, rust, names::upper_camel),
                code: given(item.def.code.as_ref()),
                retryable: given(item.def.retryable.as_ref()),
                message: self.canonical(item.def.message.as_ref()),
                doc: doc(item.def.doc.as_ref()),
            });
        }
        errors
    }

    fn timeouts(&mut self) -> Vec<Timeout> {
        let mut namer = Namer::new("timeout family");
        let mut timeouts = Vec::new();
        for item in self.sorted("timeout family", &self.definitions.timeouts) {
            let rust = item.def.rust.as_ref();
            timeouts.push(Timeout {
                name: namer.name(self, &item.name, rust, names::upper_camel),
                millis: given(item.def.millis.as_ref()),
                doc: doc(item.def.doc.as_ref()),
            });
        }
        timeouts
    }

    fn slots(&mut self) -> Vec<Slot> {
        let mut namer = Namer::new("slot");
        let mut slots = Vec::new();
        for item in self.sorted("slot", &self.definitions.slots) {
            let rust = item.def.rust.as_ref();
            slots.push(Slot {
                name: namer.name(self, &item.name, rust, names::upper_camel),
                parameter: item
                    .def
                    .parameter
                    .as_ref()
                    .map(|parameter| parameter.value.clone()),
                doc: doc(item.def.doc.as_ref()),
            });
        }
        slots
    }

    fn enums(&mut self, modules: &[Module]) -> BTreeMap<String, Enum> {
        let mut enums = BTreeMap::new();
        for item in self.sorted("enum", &self.definitions.enums) {
            let name = self.type_name(&item.name, item.def.rust.as_ref());
            let module = self.module_of(item, modules);
            let mut namer = Namer::new("value");
            let mut values = Vec::new();
            for (value, def) in &item.def.values {
                values.push(EnumValue {
                    name: namer.name(self, value, def.rust.as_ref(), names::variant),
                    doc: doc(def.doc.as_ref()),
                });
            }
            if values.is_empty() {
                self.diagnostics.report(
                    Code::Infinite,
                    item.name.at,
                    format!("enum `{}` has no value", item.name.value),
                    "add at least one value, or remove the enum",
                );
            }
            enums.insert(
                item.name.value.clone(),
                Enum {
                    name,
                    source: EnumSource::Declared,
                    module,
                    doc: doc(item.def.doc.as_ref()),
                    values,
                },
            );
        }
        enums
    }

    /// Adds the enums of all hooks and of all errors.
    fn built_in_enums(&mut self, enums: &mut BTreeMap<String, Enum>, errors: &[ErrorDef]) {
        let mut add = |name: &str, source, doc: &str, values: Vec<EnumValue>| {
            if !values.is_empty() {
                enums.insert(
                    name.to_owned(),
                    Enum {
                        name: Name {
                            wire: name.to_owned(),
                            rust: name.to_owned(),
                        },
                        source,
                        module: String::new(),
                        doc: Doc(doc.to_owned()),
                        values,
                    },
                );
            }
        };
        let reasons = errors
            .iter()
            .map(|error| EnumValue {
                name: error.name.clone(),
                doc: error.doc.clone(),
            })
            .collect();
        add(
            ERROR_REASON,
            EnumSource::Errors,
            "Why a call failed. Each reason has one JSON-RPC code, one message and one answer to \
             the question whether a retry can help.",
            reasons,
        );
        let mut namer = Namer::new("hook");
        let points = self
            .sorted("hook", &self.definitions.hooks)
            .into_iter()
            .map(|item| EnumValue {
                name: namer.name(self, &item.name, item.def.rust.as_ref(), names::upper_camel),
                doc: doc(item.def.doc.as_ref()),
            })
            .collect();
        add(
            HOOK_POINT,
            EnumSource::Hooks,
            "A point in the work of the host at which extensions are asked or told.",
            points,
        );
    }

    // Pieces.

    fn unresolved(&mut self, what: &str, name: &Spanned<String>, known: &[String]) {
        let help = match crate::definition::nearest(&name.value, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.len() <= 12 && !known.is_empty() => {
                format!("there are `{}`", known.join("`, `"))
            }
            None => format!("define it, or name a {what} that is defined"),
        };
        self.diagnostics.report(
            Code::Unresolved,
            name.at,
            format!("there is no {what} `{}`", name.value),
            help,
        );
    }

    /// A reference to an object type.
    fn object_name(&mut self, name: &Spanned<String>, role: &str) {
        match self.kinds.get(&name.value) {
            Some(Kind::Type) => self.use_name("type", &name.value),
            Some(Kind::Scalar | Kind::Enum) => {
                self.diagnostics.report(
                    Code::WrongType,
                    name.at,
                    format!("{role} is an object, and `{}` is not", name.value),
                    "name one of `[types]`",
                );
            }
            None => {
                let known: Vec<String> = self
                    .definitions
                    .types
                    .iter()
                    .map(|item| item.name.value.clone())
                    .collect();
                self.unresolved("type", name, &known);
            }
        }
    }

    fn module_of<T>(&mut self, item: &Item<T>, modules: &[Module]) -> String {
        let Some(module) = &item.module else {
            self.diagnostics.report(
                Code::MissingKey,
                item.name.at,
                format!("the file of `{}` names no module", item.name.value),
                "add `module = \"…\"` at the top of the file: one of `[modules]`",
            );
            return String::new();
        };
        if !modules.iter().any(|known| known.name == module.value) {
            let known: Vec<String> = modules.iter().map(|known| known.name.clone()).collect();
            self.unresolved("module", module, &known);
        }
        self.use_name("module", &module.value);
        module.value.clone()
    }
}

fn given<T: Clone + Default>(value: Option<&Spanned<T>>) -> T {
    value.map(|value| value.value.clone()).unwrap_or_default()
}

fn doc(text: Option<&Spanned<String>>) -> Doc {
    Doc(given(text).trim().to_owned())
}

fn sorted_names(names: Option<&Spanned<Vec<Spanned<String>>>>) -> Vec<String> {
    let mut names: Vec<String> = names
        .map(|names| names.value.iter().map(|name| name.value.clone()).collect())
        .unwrap_or_default();
    names.sort();
    names.dedup();
    names
}

fn by_order<T>(mut items: Vec<(u64, T)>, name: impl Fn(&T) -> String) -> Vec<T> {
    items.sort_by_key(|(order, item)| (*order, name(item)));
    items.into_iter().map(|(_, item)| item).collect()
}

/// A key that was given and says `true`.
fn is_set(flag: Option<&Spanned<bool>>) -> bool {
    flag.is_some_and(|flag| flag.value)
}
