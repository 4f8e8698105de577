//! Reads definition files. Every key is looked at, every fault is reported, and reading goes on
//! after each.

use std::{
    any::TypeId,
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use schemars::JsonSchema;
use toml::de::{DeTable, DeValue};

use super::{
    Bound, ClassDef, Definitions, DiagramDef, DocumentsDef, EnumDef, ErrorDef, FieldDef, FileDef,
    Given, HookDef, Item, Items, LimitDef, MethodDef, ModuleDef, PackageDef, PayloadsDef,
    ProtocolDef, ReplacementDef, RuleDef, ScalarDef, SlotDef, TimeoutDef, TypeDef, ValueDef,
};
use crate::{
    diagnostic::{Code, Diagnostics},
    source::{At, Damage, Source, Spanned},
};

/// Reads all files.
pub(crate) fn read(sources: &[Source], diagnostics: &mut Diagnostics) -> Definitions {
    let mut definitions = Definitions::default();
    let mut keys = HashMap::new();
    for (file, source) in sources.iter().enumerate() {
        let file = u32::try_from(file).unwrap_or(u32::MAX);
        let mut reader = Reader {
            file,
            module: None,
            keys: &mut keys,
            diagnostics,
        };
        if let Some(damage) = source.damage {
            reader.damage(damage, source);
        } else {
            reader.file(source, &mut definitions);
        }
    }
    definitions
}

type Value<'i> = toml::Spanned<DeValue<'i>>;

struct Reader<'a> {
    file: u32,
    module: Given<String>,
    keys: &'a mut HashMap<TypeId, Vec<String>>,
    diagnostics: &'a mut Diagnostics,
}

/// A table that is being read: its entries, and the place that stands for the whole.
struct Table<'t, 'i> {
    at: At,
    entries: &'t DeTable<'i>,
}

impl Table<'_, '_> {
    fn get(&self, key: &str) -> Option<&Value<'_>> {
        self.entries.get(key)
    }

    fn key_at(&self, reader: &Reader<'_>, key: &str) -> At {
        self.entries
            .get_key_value(key)
            .map_or(self.at, |(name, _)| reader.at(name.span()))
    }
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>) -> At {
        At {
            file: self.file,
            start: u32::try_from(span.start).unwrap_or(u32::MAX),
            end: u32::try_from(span.end).unwrap_or(u32::MAX),
        }
    }

    fn damage(&mut self, damage: Damage, source: &Source) {
        match damage {
            Damage::ByteOrderMark => {
                let at = self.at(0..'\u{feff}'.len_utf8());
                self.diagnostics.report(
                    Code::ByteOrderMark,
                    at,
                    "the file begins with a byte order mark",
                    "save it as UTF-8 without a byte order mark",
                );
            }
            Damage::NotUtf8(offset) => {
                let width = source
                    .text()
                    .get(offset..)
                    .and_then(|rest| rest.chars().next())
                    .map_or(0, char::len_utf8);
                let at = self.at(offset..offset + width);
                self.diagnostics
                    .report(
                        Code::NotUtf8,
                        at,
                        "the file is not UTF-8",
                        "save it as UTF-8",
                    )
                    .label(format!("byte {offset} begins no UTF-8 character"));
            }
        }
    }

    fn file(&mut self, source: &Source, out: &mut Definitions) {
        let (document, errors) = DeTable::parse_recoverable(source.text());
        for error in &errors {
            self.toml_error(error, source, document.get_ref());
        }
        let root = Table {
            at: self.at(0..source.text().find('\n').unwrap_or(source.text().len())),
            entries: document.get_ref(),
        };
        self.known_keys::<FileDef>(&root, "a definition file");
        self.module = self.string(&root, "module");

        if let Some(table) = self.section(&root, "protocol") {
            out.protocol.push((table.at, self.protocol(&table)));
        }
        if let Some(table) = self.section(&root, "package") {
            out.package.push((table.at, self.package(&table)));
        }
        if let Some(table) = self.section(&root, "payloads") {
            out.payloads.push((table.at, self.payloads(&table)));
        }
        self.items(&root, "modules", &mut out.modules, Self::module);
        self.items(&root, "classes", &mut out.classes, Self::class);
        self.items(&root, "limits", &mut out.limits, Self::limit);
        self.items(&root, "methods", &mut out.methods, Self::method);
        self.items(&root, "errors", &mut out.errors, Self::error);
        self.items(&root, "timeouts", &mut out.timeouts, Self::timeout);
        self.items(&root, "slots", &mut out.slots, Self::slot);
        self.items(&root, "hooks", &mut out.hooks, Self::hook);
        self.items(&root, "scalars", &mut out.scalars, Self::scalar);
        self.items(&root, "enums", &mut out.enums, Self::enumeration);
        self.items(&root, "types", &mut out.types, Self::ty);
        self.items(&root, "diagrams", &mut out.diagrams, Self::diagram);
    }

    fn toml_error(&mut self, error: &toml::de::Error, source: &Source, root: &DeTable<'_>) {
        let span = error.span().unwrap_or(0..0);
        let at = self.at(span.clone());
        if error.message().starts_with("duplicate key") {
            let text = source.text().get(span.clone()).unwrap_or_default();
            let name = text.trim_matches(['"', '\'']);
            let mut earlier = Vec::new();
            places_of(root, name, &mut earlier);
            let diagnostic = self.diagnostics.report(
                Code::Duplicate,
                at,
                format!("`{name}` is defined twice in one table"),
                "remove or rename one of the two",
            );
            diagnostic.label("defined again here");
            let first = earlier
                .into_iter()
                .filter(|place| place.start < span.start)
                .max_by_key(|place| place.start);
            if let Some(first) = first {
                let first = self.at(first);
                if let Some(diagnostic) = self.diagnostics.last() {
                    diagnostic.also(first, "first defined here");
                }
            }
        } else {
            self.diagnostics.report(
                Code::Toml,
                at,
                format!("this is not TOML: {}", error.message()),
                "see https://toml.io for the syntax; a string needs quotes, a key and its value stand \
                 on one line",
            );
        }
    }

    // Sections.

    fn protocol(&mut self, table: &Table<'_, '_>) -> ProtocolDef {
        self.known_keys::<ProtocolDef>(table, "`[protocol]`");
        ProtocolDef {
            id: self.required(table, "id", Self::string),
            title: self.required(table, "title", Self::string),
            major: self.required(table, "major", Self::unsigned),
            doc: self.doc(table, "the protocol"),
        }
    }

    fn package(&mut self, table: &Table<'_, '_>) -> PackageDef {
        self.known_keys::<PackageDef>(table, "`[package]`");
        PackageDef {
            name: self.required(table, "name", Self::string),
            version: self.required(table, "version", Self::string),
            description: self.required(table, "description", Self::string),
            repository: self.string(table, "repository"),
            directory: self.required(table, "directory", Self::string),
            index: self.required(table, "index", Self::string),
        }
    }

    fn payloads(&mut self, table: &Table<'_, '_>) -> PayloadsDef {
        self.known_keys::<PayloadsDef>(table, "`[payloads]`");
        PayloadsDef {
            id: self.required(table, "id", Self::string),
            title: self.required(table, "title", Self::string),
            error_data: self.string(table, "error_data"),
            decisions: self.string(table, "decisions"),
        }
    }

    fn module(&mut self, name: &str, table: &Table<'_, '_>) -> ModuleDef {
        self.known_keys::<ModuleDef>(table, "a module");
        ModuleDef {
            order: self.required(table, "order", Self::unsigned),
            document: self.required(table, "document", Self::string),
            doc: self.doc(table, &format!("module `{name}`")),
        }
    }

    fn class(&mut self, name: &str, table: &Table<'_, '_>) -> ClassDef {
        self.known_keys::<ClassDef>(table, "a class");
        ClassDef {
            order: self.required(table, "order", Self::unsigned),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("class `{name}`")),
        }
    }

    fn limit(&mut self, name: &str, table: &Table<'_, '_>) -> LimitDef {
        self.known_keys::<LimitDef>(table, "a limit");
        LimitDef {
            value: self.required(table, "value", Self::bound),
            unit: self.required(table, "unit", Self::string),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("limit `{name}`")),
        }
    }

    fn method(&mut self, name: &str, table: &Table<'_, '_>) -> MethodDef {
        self.known_keys::<MethodDef>(table, "a method");
        MethodDef {
            direction: self.required(table, "direction", Self::string),
            class: self.required(table, "class", Self::string),
            params: self.required(table, "params", Self::string),
            result: self.string(table, "result"),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("method `{name}`")),
            example: self.required(table, "example", Self::string),
            result_example: self.string(table, "result_example"),
        }
    }

    fn diagram(&mut self, name: &str, table: &Table<'_, '_>) -> DiagramDef {
        self.known_keys::<DiagramDef>(table, "a diagram");
        DiagramDef {
            order: self.required(table, "order", Self::unsigned),
            steps: self.required(table, "steps", Self::strings),
            doc: self.doc(table, &format!("diagram `{name}`")),
        }
    }

    fn error(&mut self, name: &str, table: &Table<'_, '_>) -> ErrorDef {
        self.known_keys::<ErrorDef>(table, "an error");
        ErrorDef {
            code: self.required(table, "code", Self::signed),
            retryable: self.required(table, "retryable", Self::boolean),
            message: self.required(table, "message", Self::string),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("error `{name}`")),
        }
    }

    fn timeout(&mut self, name: &str, table: &Table<'_, '_>) -> TimeoutDef {
        self.known_keys::<TimeoutDef>(table, "a timeout family");
        TimeoutDef {
            millis: self.required(table, "millis", Self::unsigned),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("timeout family `{name}`")),
        }
    }

    fn slot(&mut self, name: &str, table: &Table<'_, '_>) -> SlotDef {
        self.known_keys::<SlotDef>(table, "a slot");
        SlotDef {
            parameter: self.string(table, "parameter"),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("slot `{name}`")),
        }
    }

    fn hook(&mut self, name: &str, table: &Table<'_, '_>) -> HookDef {
        self.known_keys::<HookDef>(table, "a hook");
        let replacement = self.section(table, "replacement").map(|table| {
            self.known_keys::<ReplacementDef>(&table, "`replacement`");
            ReplacementDef {
                required: self.strings(&table, "required"),
                non_empty: self.strings(&table, "non_empty"),
                any_of: self.strings(&table, "any_of"),
                object_text: self.strings(&table, "object_text"),
            }
        });
        HookDef {
            payload: self.required(table, "payload", Self::string),
            timeout: self.required(table, "timeout", Self::string),
            slot: self.string(table, "slot"),
            decisions: self.required(table, "decisions", Self::strings),
            adopts: self.required(table, "adopts", Self::strings),
            fixed: self.string_map(table, "fixed"),
            replacement,
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("hook `{name}`")),
        }
    }

    fn scalar(&mut self, name: &str, table: &Table<'_, '_>) -> ScalarDef {
        self.known_keys::<ScalarDef>(table, "a scalar");
        ScalarDef {
            ty: self.required(table, "type", Self::string),
            non_blank: self.boolean(table, "non_blank"),
            lower_hex: self.unsigned(table, "lower_hex"),
            min: self.bound(table, "min"),
            max: self.bound(table, "max"),
            example: self.string(table, "example"),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("scalar `{name}`")),
        }
    }

    fn enumeration(&mut self, name: &str, table: &Table<'_, '_>) -> EnumDef {
        self.known_keys::<EnumDef>(table, "an enum");
        let mut values = Vec::new();
        if table.get("values").is_none() {
            self.diagnostics.report(
                Code::MissingKey,
                table.at,
                format!("enum `{name}` has no `values`"),
                format!("add a table `[enums.{name}.values]` with a line `value = \"what it means\"` each"),
            );
        }
        if let Some(entries) = self.section(table, "values") {
            for (key, value) in entries.entries {
                let value_name = self.spanned(key.get_ref(), key.span());
                let def = if let Some(text) = value.get_ref().as_str() {
                    let doc = self.spanned(text, value.span());
                    self.check_doc(&doc, &format!("value `{}`", value_name.value));
                    ValueDef {
                        rust: None,
                        doc: Some(doc),
                    }
                } else if let Some(table) = self.table(value, value_name.at, "a value of an enum") {
                    self.known_keys::<ValueDef>(&table, "a value of an enum");
                    ValueDef {
                        rust: self.string(&table, "rust"),
                        doc: self.doc(&table, &format!("value `{}`", value_name.value)),
                    }
                } else {
                    ValueDef::default()
                };
                values.push((value_name, def));
            }
        }
        EnumDef {
            values,
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("enum `{name}`")),
        }
    }

    fn ty(&mut self, name: &str, table: &Table<'_, '_>) -> TypeDef {
        self.known_keys::<TypeDef>(table, "a type");
        let mut fields = Vec::new();
        if let Some(entries) = self.section(table, "fields") {
            for (key, value) in entries.entries {
                let field = self.spanned(key.get_ref(), key.span());
                if let Some(table) = self.table(value, field.at, "a field") {
                    let def = self.field(&format!("{name}.{}", field.value), &table);
                    fields.push((field, def));
                }
            }
        }
        let mut rules = Vec::new();
        if let Some(value) = table.get("rules") {
            let at = self.at(value.span());
            if let Some(array) = value.get_ref().as_array() {
                for value in array {
                    let at = self.at(value.span());
                    if let Some(table) = self.table(value, at, "a rule") {
                        let rule = self.rule(name, &table);
                        rules.push((at, rule));
                    }
                }
            } else {
                self.wrong_type::<()>(at, "rules", "a list of tables", value);
            }
        }
        TypeDef {
            fields,
            rules,
            unused: self.boolean(table, "unused"),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("type `{name}`")),
        }
    }

    fn field(&mut self, name: &str, table: &Table<'_, '_>) -> FieldDef {
        self.known_keys::<FieldDef>(table, "a field");
        let documents = self.section(table, "documents").map(|table| {
            self.known_keys::<DocumentsDef>(&table, "`documents`");
            DocumentsDef {
                by: self.required(&table, "by", Self::string),
                types: self.string_map(&table, "types"),
            }
        });
        FieldDef {
            ty: self.required(table, "type", Self::string),
            optional: self.boolean(table, "optional"),
            absent_is_zero: self.boolean(table, "absent_is_zero"),
            empty_is_absent: self.boolean(table, "empty_is_absent"),
            non_blank: self.boolean(table, "non_blank"),
            min: self.bound(table, "min"),
            max: self.bound(table, "max"),
            externalizable: self.boolean(table, "externalizable"),
            documents,
            example: self.string(table, "example"),
            rust: self.string(table, "rust"),
            doc: self.doc(table, &format!("field `{name}`")),
        }
    }

    fn rule(&mut self, name: &str, table: &Table<'_, '_>) -> RuleDef {
        self.known_keys::<RuleDef>(table, "a rule");
        RuleDef {
            when: self.string_map(table, "when"),
            unless: self.string_map(table, "unless"),
            requires: self.strings(table, "requires"),
            forbids: self.strings(table, "forbids"),
            object: self.strings(table, "object"),
            doc: self.doc(table, &format!("this rule of type `{name}`")),
        }
    }

    // Pieces.

    fn items<T>(
        &mut self,
        root: &Table<'_, '_>,
        key: &str,
        out: &mut Items<T>,
        read: fn(&mut Self, &str, &Table<'_, '_>) -> T,
    ) {
        let Some(section) = self.section(root, key) else {
            return;
        };
        for (name, value) in section.entries {
            let name = self.spanned(name.get_ref(), name.span());
            if let Some(table) = self.table(value, name.at, "a definition") {
                let def = read(self, &name.value, &table);
                out.push(Item {
                    name,
                    module: self.module.clone(),
                    def,
                });
            }
        }
    }

    fn section<'t, 'i>(&mut self, parent: &'t Table<'_, 'i>, key: &str) -> Option<Table<'t, 'i>> {
        let value = parent.entries.get(key)?;
        let at = parent.key_at(self, key);
        self.table(value, at, &format!("`{key}`"))
    }

    fn table<'t, 'i>(&mut self, value: &'t Value<'i>, at: At, what: &str) -> Option<Table<'t, 'i>> {
        if let Some(entries) = value.get_ref().as_table() {
            return Some(Table { at, entries });
        }
        let at = self.at(value.span());
        self.diagnostics.report(
            Code::WrongType,
            at,
            format!("{what} is a table, and this is {}", article(value)),
            "write a table: `{ key = value, … }` or a `[header]` with keys below it",
        );
        None
    }

    fn known_keys<T: JsonSchema + 'static>(&mut self, table: &Table<'_, '_>, what: &str) {
        let keys = self
            .keys
            .entry(TypeId::of::<T>())
            .or_insert_with(keys_of::<T>)
            .clone();
        for (key, _) in table.entries {
            if keys.iter().any(|known| known == key.get_ref()) {
                continue;
            }
            let at = self.at(key.span());
            let name = key.get_ref();
            let help = match nearest(name, &keys) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the keys of {what} are {}", listed(&keys)),
            };
            self.diagnostics.report(
                Code::UnknownKey,
                at,
                format!("{what} has no key `{name}`"),
                help,
            );
        }
    }

    fn required<T>(
        &mut self,
        table: &Table<'_, '_>,
        key: &str,
        read: fn(&mut Self, &Table<'_, '_>, &str) -> Given<T>,
    ) -> Given<T> {
        if table.get(key).is_none() {
            self.diagnostics.report(
                Code::MissingKey,
                table.at,
                format!("the key `{key}` is missing"),
                format!("add `{key} = …`"),
            );
            return None;
        }
        read(self, table, key)
    }

    fn doc(&mut self, table: &Table<'_, '_>, what: &str) -> Given<String> {
        if table.get("doc").is_none() {
            self.diagnostics.report(
                Code::MissingDoc,
                table.at,
                format!("{what} has no `doc`"),
                "add `doc = \"…\"`: what it means, its unit and its bounds",
            );
            return None;
        }
        let doc = self.string(table, "doc")?;
        self.check_doc(&doc, what);
        Some(doc)
    }

    fn check_doc(&mut self, doc: &Spanned<String>, what: &str) {
        if doc.value.trim().is_empty() {
            self.diagnostics.report(
                Code::MissingDoc,
                doc.at,
                format!("the `doc` of {what} is empty"),
                "say what it means, its unit and its bounds",
            );
        }
        if let Some(bad) = doc.value.chars().find(|&c| crate::prose::is_forbidden(c)) {
            self.diagnostics.report(
                Code::BadDoc,
                doc.at,
                format!(
                    "the `doc` of {what} has the character U+{:04X}",
                    u32::from(bad)
                ),
                "remove it: control characters and characters that change the direction of text do \
                 not show",
            );
        }
    }

    fn string(&mut self, table: &Table<'_, '_>, key: &str) -> Given<String> {
        let value = table.get(key)?;
        let at = self.at(value.span());
        match value.get_ref().as_str() {
            Some(text) => Some(Spanned {
                value: text.to_owned(),
                at,
            }),
            None => self.wrong_type(at, key, "a string", value),
        }
    }

    fn strings(&mut self, table: &Table<'_, '_>, key: &str) -> Given<Vec<Spanned<String>>> {
        let value = table.get(key)?;
        let at = self.at(value.span());
        let Some(array) = value.get_ref().as_array() else {
            return self.wrong_type(at, key, "a list of strings", value);
        };
        let mut list = Vec::new();
        for entry in array {
            let at = self.at(entry.span());
            match entry.get_ref().as_str() {
                Some(text) => list.push(self.spanned(text, entry.span())),
                None => {
                    self.wrong_type::<()>(at, key, "a list of strings", entry);
                }
            }
        }
        Some(Spanned { value: list, at })
    }

    fn string_map(
        &mut self,
        table: &Table<'_, '_>,
        key: &str,
    ) -> Vec<(Spanned<String>, Spanned<String>)> {
        let Some(entries) = self.section(table, key) else {
            return Vec::new();
        };
        let mut list = Vec::new();
        for (name, value) in entries.entries {
            let at = self.at(value.span());
            match value.get_ref().as_str() {
                Some(text) => list.push((
                    self.spanned(name.get_ref(), name.span()),
                    self.spanned(text, value.span()),
                )),
                None => {
                    self.wrong_type::<()>(at, name.get_ref(), "a string", value);
                }
            }
        }
        list
    }

    fn boolean(&mut self, table: &Table<'_, '_>, key: &str) -> Given<bool> {
        let value = table.get(key)?;
        let at = self.at(value.span());
        match value.get_ref().as_bool() {
            Some(value) => Some(Spanned { value, at }),
            None => self.wrong_type(at, key, "`true` or `false`", value),
        }
    }

    fn signed(&mut self, table: &Table<'_, '_>, key: &str) -> Given<i64> {
        let value = table.get(key)?;
        let at = self.at(value.span());
        match integer(value).and_then(|value| i64::try_from(value).ok()) {
            Some(value) => Some(Spanned { value, at }),
            None => self.wrong_type(at, key, "an integer of 64 bits", value),
        }
    }

    fn unsigned(&mut self, table: &Table<'_, '_>, key: &str) -> Given<u64> {
        let value = table.get(key)?;
        let at = self.at(value.span());
        match integer(value).and_then(|value| u64::try_from(value).ok()) {
            // TOML promises 63 bits, so another reader of this file could not hold more.
            Some(value) if i64::try_from(value).is_ok() => Some(Spanned { value, at }),
            _ => self.wrong_type(
                at,
                key,
                "an integer of at least 0 that TOML can hold",
                value,
            ),
        }
    }

    fn bound(&mut self, table: &Table<'_, '_>, key: &str) -> Given<Bound> {
        let value = table.get(key)?;
        let at = self.at(value.span());
        if let Some(number) = integer(value) {
            if i64::try_from(number).is_ok() {
                return Some(Spanned {
                    value: Bound(number),
                    at,
                });
            }
            self.diagnostics.report(
                Code::BadBound,
                at,
                format!("`{key}` is beyond the integers of TOML, which have 64 bits and a sign"),
                format!("write its digits as a string: `{key} = \"{number}\"`"),
            );
            return None;
        }
        if let Some(number) = value.get_ref().as_str().and_then(|text| {
            // The canonical spelling only: no plus, no leading zero, no minus zero.
            let number = text.parse::<i128>().ok()?;
            (number.to_string() == text).then_some(number)
        }) {
            return Some(Spanned {
                value: Bound(number),
                at,
            });
        }
        if value.get_ref().is_float() {
            self.diagnostics.report(
                Code::BadBound,
                at,
                format!("`{key}` has a fraction or an exponent"),
                "a bound is an integer, for numbers too: the canonical document has no other spelling",
            );
            return None;
        }
        self.wrong_type(at, key, "an integer", value)
    }

    fn wrong_type<T>(&mut self, at: At, key: &str, expected: &str, value: &Value<'_>) -> Given<T> {
        self.diagnostics.report(
            Code::WrongType,
            at,
            format!("`{key}` is {expected}, and this is {}", article(value)),
            format!("write {expected}"),
        );
        None
    }

    fn spanned(&self, text: &str, span: Range<usize>) -> Spanned<String> {
        Spanned {
            value: text.to_owned(),
            at: self.at(span),
        }
    }
}

/// The keys of a vocabulary type, as its schema has them.
pub(super) fn keys_of<T: JsonSchema>() -> Vec<String> {
    let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
    let properties: BTreeMap<String, serde_json::Value> = schema
        .get("properties")
        .and_then(|value| serde_json::from_value(value.clone()).ok())
        .unwrap_or_default();
    properties.into_keys().collect()
}

fn integer(value: &Value<'_>) -> Option<i128> {
    let integer = value.get_ref().as_integer()?;
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn article(value: &Value<'_>) -> String {
    let kind = value.get_ref().type_str();
    match kind {
        "integer" | "array" | "offset datetime" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [] => "none".to_owned(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The known name that was probably meant.
pub(crate) fn nearest<'a>(
    name: &str,
    known: impl IntoIterator<Item = &'a String>,
) -> Option<&'a str> {
    // Beyond a third of the letters it is another word.
    let limit = name.chars().count().div_ceil(3);
    known
        .into_iter()
        .map(|candidate| {
            let (a, b) = (name.to_lowercase(), candidate.to_lowercase());
            (strsim::damerau_levenshtein(&a, &b), candidate)
        })
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate.as_str())
}

fn places_of(table: &DeTable<'_>, name: &str, out: &mut Vec<Range<usize>>) {
    for (key, value) in table {
        if key.get_ref() == name {
            out.push(key.span());
        }
        match value.get_ref() {
            DeValue::Table(table) => places_of(table, name, out),
            DeValue::Array(array) => {
                for value in array {
                    if let DeValue::Table(table) = value.get_ref() {
                        places_of(table, name, out);
                    }
                }
            }
            DeValue::String(_)
            | DeValue::Integer(_)
            | DeValue::Float(_)
            | DeValue::Boolean(_)
            | DeValue::Datetime(_) => {}
        }
    }
}
