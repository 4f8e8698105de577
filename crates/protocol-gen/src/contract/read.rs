//! From the text of canonical documents to a [`Contract`]: every keyword is known or refused. Knows no
//! definitions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value};

use super::{
    Contract, Documents, ErrorTerms, Hook, Limit, Member, MemberDocuments, Method, Object,
    Payloads, Shape, Supplement, Text, finite,
    json::{self, push_segment},
};
use crate::{
    emit::json_schema::DIALECT,
    model::{Direction, Integer, Replacement, Width},
};

/// One of the documents of a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DocumentKind {
    /// The frozen contract.
    Schema,
    /// The documents inside its any-JSON members.
    Payloads,
    /// What neither can say.
    Supplement,
}

impl DocumentKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Schema, Self::Payloads, Self::Supplement];

    /// What people call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Schema => "contract",
            Self::Payloads => "payloads",
            Self::Supplement => "supplement",
        }
    }
}

/// A place at which a document is not of the shape.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShapeFault {
    /// The document.
    pub document: DocumentKind,
    /// The place in it, as a JSON pointer.
    pub pointer: String,
    /// What is wrong there and what was expected.
    pub message: String,
}

impl fmt::Display for ShapeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.pointer.is_empty() {
            write!(f, "{}: {}", self.document.as_str(), self.message)
        } else {
            write!(
                f,
                "{}: `{}`: {}",
                self.document.as_str(),
                self.pointer,
                self.message
            )
        }
    }
}

impl std::error::Error for ShapeFault {}

/// What the pattern of a replacement member says: it is empty or the text of one JSON object.
pub(crate) const OBJECT_TEXT: &str = r"^(\s*\{|$)";

pub(super) fn read(documents: &Documents) -> Result<Contract, Vec<ShapeFault>> {
    let mut faults = Vec::new();
    let contract = schema(&documents.schema, &mut faults);
    let payloads = documents
        .payloads
        .as_deref()
        .map(|text| payloads(text, &mut faults));
    let supplement = documents.supplement.as_deref().map(Supplement::parse);
    let Some(mut contract) = contract else {
        return Err(faults);
    };
    if let Some(Some(payloads)) = payloads {
        contract.add(payloads, &mut faults);
    }
    contract.check_references(&mut faults);
    for (ty, member) in finite::endless(&contract) {
        let mut pointer = String::from("/$defs");
        for segment in [ty, "properties", member] {
            push_segment(&mut pointer, segment);
        }
        faults.push(ShapeFault {
            document: contract
                .types
                .get(ty)
                .map_or(DocumentKind::Schema, Object::document),
            pointer,
            message: "no finite message can have this type: through required members it always \
                      contains itself"
                .to_owned(),
        });
    }
    match supplement {
        Some(Ok(supplement)) if faults.is_empty() => {
            supplement.apply(&mut contract, &mut faults);
        }
        Some(Err(error)) => faults.push(ShapeFault {
            document: DocumentKind::Supplement,
            pointer: String::new(),
            message: error.to_string(),
        }),
        Some(Ok(_)) | None => {}
    }
    if faults.is_empty() {
        Ok(contract)
    } else {
        Err(faults)
    }
}

/// What the payloads document says.
struct PayloadsRead {
    protocol: String,
    types: BTreeMap<String, Object>,
    documents: BTreeMap<(String, String), MemberDocuments>,
    payloads: Payloads,
}

fn schema(text: &str, faults: &mut Vec<ShapeFault>) -> Option<Contract> {
    let mut reader = Reader::new(DocumentKind::Schema, faults);
    let document = reader.parse(text)?;
    let members = reader.object(
        &document,
        &[
            "$defs",
            "$id",
            "$schema",
            "errors",
            "interceptEvents",
            "limits",
            "methods",
            "protocol",
            "protocolID",
            "protocolMajor",
            "title",
        ],
    )?;
    reader.dialect(members);
    let id = reader.string(members, "protocol");
    for name in ["$id", "protocolID"] {
        let other = reader.string(members, name);
        if let (Some(id), Some(other)) = (&id, other)
            && *id != other
        {
            reader.at(name, |reader| {
                reader.fault(format!("expected {id:?}, as `protocol` says"));
            });
        }
    }
    let types = reader.definitions(members);
    let methods = reader.section(members, "methods", Reader::method);
    let limits = reader.section(members, "limits", |reader, value| {
        let value = value.as_u64();
        if value.is_none() {
            reader.fault("expected an integer from 0 to 18446744073709551615");
        }
        value.map(|value| Limit { value, unit: None })
    });
    let mut errors = BTreeMap::new();
    reader.at("errors", |reader| {
        for (index, item) in reader.list(members.get("errors")).iter().enumerate() {
            reader.at(&index.to_string(), |reader| {
                if let Some((reason, error)) = reader.error(item)
                    && errors.insert(reason.clone(), error).is_some()
                {
                    reader.fault(format!("the reason {reason:?} stands twice"));
                }
            });
        }
    });
    let events = reader.at("interceptEvents", |reader| {
        reader.names(members.get("interceptEvents"))
    });
    let title = reader.string(members, "title");
    let major = members.get("protocolMajor").and_then(Value::as_u64);
    if major.is_none() {
        reader.at("protocolMajor", |reader| {
            reader.fault("expected an integer that is not negative");
        });
    }
    Some(Contract {
        id: id?,
        title: title?,
        major: major?,
        types: types
            .into_iter()
            .map(|(name, mut object)| {
                object.in_contract = true;
                (name, object)
            })
            .collect(),
        methods,
        errors,
        limits,
        events,
        payloads: None,
        timeouts: BTreeMap::new(),
        slots: BTreeMap::new(),
        supplemented: false,
    })
}

fn payloads(text: &str, faults: &mut Vec<ShapeFault>) -> Option<PayloadsRead> {
    let mut reader = Reader::new(DocumentKind::Payloads, faults);
    let document = reader.parse(text)?;
    let members = reader.object(
        &document,
        &[
            "$defs",
            "$id",
            "$schema",
            "documents",
            "errorData",
            "hooks",
            "protocol",
            "title",
        ],
    )?;
    reader.dialect(members);
    let id = reader.string(members, "$id");
    let protocol = reader.string(members, "protocol");
    let title = reader.string(members, "title");
    let types = reader.definitions(members);
    let hooks = reader.section(members, "hooks", Reader::hook);
    let documents = reader
        .section(members, "documents", Reader::documents)
        .into_iter()
        .filter_map(|(place, documents)| {
            let Some((ty, member)) = place.split_once('.') else {
                reader.at("documents", |reader| {
                    reader.fault(format!("{place:?} names no member; expected `Type.member`"));
                });
                return None;
            };
            Some(((ty.to_owned(), member.to_owned()), documents))
        })
        .collect();
    let error_data = members
        .get("errorData")
        .and_then(|value| reader.at("errorData", |reader| reader.reference(value)));
    Some(PayloadsRead {
        protocol: protocol?,
        types,
        documents,
        payloads: Payloads {
            id: id?,
            title: title?,
            hooks,
            error_data,
        },
    })
}

impl Object {
    /// The first document that it stands in.
    fn document(&self) -> DocumentKind {
        if self.in_contract {
            DocumentKind::Schema
        } else {
            DocumentKind::Payloads
        }
    }
}

impl Contract {
    fn add(&mut self, read: PayloadsRead, faults: &mut Vec<ShapeFault>) {
        let mut reader = Reader::new(DocumentKind::Payloads, faults);
        if read.protocol != self.id {
            reader.at("protocol", |reader| {
                reader.fault(format!("expected {:?}, as the contract says", self.id));
            });
        }
        for (name, mut object) in read.types {
            object.in_payloads = true;
            match self.types.get_mut(&name) {
                None => {
                    self.types.insert(name, object);
                }
                Some(known) if known.members == object.members => known.in_payloads = true,
                Some(_) => reader.at("$defs", |reader| {
                    reader.at(&name, |reader| {
                        reader.fault("the contract has another type of this name");
                    });
                }),
            }
        }
        for ((ty, member), documents) in read.documents {
            let place = format!("{ty}.{member}");
            match self
                .types
                .get_mut(&ty)
                .and_then(|object| object.members.get_mut(&member))
            {
                Some(member) if member.shape == Shape::Any => member.documents = Some(documents),
                Some(_) | None => reader.at("documents", |reader| {
                    reader.at(&place, |reader| {
                        reader.fault("there is no any-JSON member of this name");
                    });
                }),
            }
        }
        self.payloads = Some(read.payloads);
    }

    fn check_references(&self, faults: &mut Vec<ShapeFault>) {
        let mut missing = |document: DocumentKind, path: &[&str], name: &str| {
            if !self.types.contains_key(name) {
                let mut pointer = String::new();
                for segment in path {
                    push_segment(&mut pointer, segment);
                }
                faults.push(ShapeFault {
                    document,
                    pointer,
                    message: format!("there is no type {name:?} in `$defs`"),
                });
            }
        };
        for (name, object) in &self.types {
            let document = object.document();
            for (member, terms) in &object.members {
                if let Some(ty) = terms.shape.used_type() {
                    missing(document, &["$defs", name, "properties", member], ty);
                }
                for (value, ty) in terms.documents.iter().flat_map(|of| &of.types) {
                    let place = format!("{name}.{member}");
                    let path = ["documents", &place, "types", value];
                    missing(DocumentKind::Payloads, &path, ty);
                }
            }
        }
        for (name, method) in &self.methods {
            missing(
                DocumentKind::Schema,
                &["methods", name, "params"],
                &method.params,
            );
            if let Some(result) = &method.result {
                missing(DocumentKind::Schema, &["methods", name, "result"], result);
            }
        }
        if let Some(payloads) = &self.payloads {
            for (point, hook) in &payloads.hooks {
                missing(
                    DocumentKind::Payloads,
                    &["hooks", point, "payload"],
                    &hook.payload,
                );
            }
            if let Some(ty) = &payloads.error_data {
                missing(DocumentKind::Payloads, &["errorData"], ty);
            }
        }
    }
}

/// Reads one document and keeps the way to where it is.
struct Reader<'f> {
    document: DocumentKind,
    pointer: String,
    faults: &'f mut Vec<ShapeFault>,
}

impl<'f> Reader<'f> {
    fn new(document: DocumentKind, faults: &'f mut Vec<ShapeFault>) -> Self {
        Self {
            document,
            pointer: String::new(),
            faults,
        }
    }

    fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(ShapeFault {
            document: self.document,
            pointer: self.pointer.clone(),
            message: message.into(),
        });
    }

    fn at<T>(&mut self, segment: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        push_segment(&mut self.pointer, segment);
        let value = read(self);
        self.pointer.truncate(length);
        value
    }

    fn parse(&mut self, text: &str) -> Option<Value> {
        match json::parse(text) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault(format!("it is not JSON: {error}"));
                None
            }
        }
    }

    /// The members of an object that may have these and no others.
    fn object<'v>(&mut self, value: &'v Value, known: &[&str]) -> Option<&'v Map<String, Value>> {
        let Some(members) = value.as_object() else {
            self.fault("expected an object");
            return None;
        };
        let mut names: Vec<&String> = members.keys().collect();
        names.sort_unstable();
        for name in names {
            if !known.contains(&name.as_str()) {
                self.at(name, |reader| {
                    reader.fault(format!(
                        "unknown keyword; expected one of `{}`",
                        known.join("`, `")
                    ));
                });
            }
        }
        Some(members)
    }

    fn dialect(&mut self, members: &Map<String, Value>) {
        if members.get("$schema").and_then(Value::as_str) != Some(DIALECT) {
            self.at("$schema", |reader| {
                reader.fault(format!("expected {DIALECT:?}"));
            });
        }
    }

    fn string(&mut self, members: &Map<String, Value>, name: &str) -> Option<String> {
        let value = members.get(name).and_then(Value::as_str);
        if value.is_none() {
            self.at(name, |reader| reader.fault("expected a string"));
        }
        value.map(str::to_owned)
    }

    fn boolean(&mut self, members: &Map<String, Value>, name: &str) -> Option<bool> {
        let value = members.get(name).and_then(Value::as_bool);
        if value.is_none() {
            self.at(name, |reader| reader.fault("expected a boolean"));
        }
        value
    }

    fn list<'v>(&mut self, value: Option<&'v Value>) -> &'v [Value] {
        match value.and_then(Value::as_array) {
            Some(items) => items,
            None => {
                self.fault("expected a list");
                &[]
            }
        }
    }

    /// A list of distinct strings.
    fn names(&mut self, value: Option<&Value>) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (index, item) in self.list(value).iter().enumerate() {
            self.at(&index.to_string(), |reader| match item.as_str() {
                Some(name) => {
                    if !names.insert(name.to_owned()) {
                        reader.fault(format!("{name:?} stands twice"));
                    }
                }
                None => reader.fault("expected a string"),
            });
        }
        names
    }

    /// The members of a section, each read in the same way.
    fn section<T>(
        &mut self,
        members: &Map<String, Value>,
        name: &str,
        mut read: impl FnMut(&mut Self, &Value) -> Option<T>,
    ) -> BTreeMap<String, T> {
        self.at(name, |reader| {
            let Some(section) = members.get(name).and_then(Value::as_object) else {
                reader.fault("expected an object");
                return BTreeMap::new();
            };
            let sorted: BTreeMap<&String, &Value> = section.iter().collect();
            sorted
                .into_iter()
                .filter_map(|(name, value)| {
                    let read = reader.at(name, |reader| read(reader, value));
                    read.map(|read| (name.clone(), read))
                })
                .collect()
        })
    }

    fn definitions(&mut self, members: &Map<String, Value>) -> BTreeMap<String, Object> {
        self.section(members, "$defs", Self::definition)
    }

    fn definition(&mut self, value: &Value) -> Option<Object> {
        let keywords = self.object(
            value,
            &["additionalProperties", "properties", "required", "type"],
        )?;
        if keywords.get("additionalProperties") != Some(&Value::Bool(false)) {
            self.at("additionalProperties", |reader| {
                reader.fault("expected `false`: types are closed");
            });
        }
        if keywords.get("type").and_then(Value::as_str) != Some("object") {
            self.at("type", |reader| reader.fault("expected \"object\""));
        }
        let mut members = self.section(keywords, "properties", Self::member);
        if keywords.contains_key("required") {
            let required = self.at("required", |reader| reader.names(keywords.get("required")));
            for name in required {
                match members.get_mut(&name) {
                    Some(member) => member.required = true,
                    None => self.at("required", |reader| {
                        reader.fault(format!("{name:?} is no member of the type"));
                    }),
                }
            }
        }
        Some(Object {
            members,
            ..Object::default()
        })
    }

    fn member(&mut self, value: &Value) -> Option<Member> {
        let externalizable =
            value
                .get("x-externalizable")
                .is_some_and(|mark| match mark.as_bool() {
                    Some(mark) => mark,
                    None => {
                        self.at("x-externalizable", |reader| {
                            reader.fault("expected a boolean");
                        });
                        false
                    }
                });
        let shape = self.shape(value, true)?;
        if externalizable && !matches!(shape, Shape::Any | Shape::Text(_)) {
            self.at("x-externalizable", |reader| {
                reader.fault("only strings and any JSON travel by reference");
            });
        }
        Some(Member {
            shape,
            required: false,
            externalizable,
            documents: None,
            shared: None,
            absent_is_zero: false,
        })
    }

    /// What a value is. The mark of externalizable values stands at members alone.
    fn shape(&mut self, value: &Value, member: bool) -> Option<Shape> {
        if value == &Value::Bool(true) {
            return Some(Shape::Any);
        }
        let known = |keywords: &[&'static str]| {
            let mut keywords = keywords.to_vec();
            if member {
                keywords.push("x-externalizable");
            }
            keywords
        };
        let Some(members) = value.as_object() else {
            self.fault("expected a schema: `true` or an object");
            return None;
        };
        if members.contains_key("$ref") {
            self.object(value, &known(&["$ref"]))?;
            return self.reference_of(value).map(Shape::Type);
        }
        if members.contains_key("enum") {
            self.object(value, &known(&["enum", "type"]))?;
            if members.get("type").and_then(Value::as_str) != Some("string") {
                self.at("type", |reader| reader.fault("expected \"string\""));
            }
            let values = self.at("enum", |reader| {
                let values = reader.names(members.get("enum"));
                if values.is_empty() {
                    reader.fault("expected at least one value");
                }
                values
            });
            return Some(Shape::Enum(values));
        }
        let Some(ty) = members.get("type") else {
            self.object(value, &known(&[]))?;
            return Some(Shape::Any);
        };
        match ty.as_str() {
            Some("boolean") => {
                self.object(value, &known(&["type"]))?;
                Some(Shape::Bool)
            }
            Some("string") => {
                self.object(value, &known(&["minLength", "type"]))?;
                let non_blank = members.get("minLength").is_some_and(|length| {
                    if length.as_u64() != Some(1) {
                        self.at("minLength", |reader| {
                            reader.fault("expected 1: text that is not blank");
                        });
                    }
                    true
                });
                Some(Shape::Text(Text {
                    non_blank,
                    lower_hex: None,
                }))
            }
            Some("integer") => {
                self.object(value, &known(&["maximum", "minimum", "type"]))?;
                let min = self.bound(members, "minimum");
                let max = self.bound(members, "maximum");
                self.order(min, max);
                let mut integer = Integer {
                    width: Width::I64,
                    min,
                    max,
                };
                integer.width = integer.narrowest();
                Some(Shape::Integer(integer))
            }
            Some("number") => {
                self.object(value, &known(&["maximum", "minimum", "type"]))?;
                let min = self.bound(members, "minimum");
                let max = self.bound(members, "maximum");
                self.order(min, max);
                let mut narrow = |bound: Option<i128>, name: &str| {
                    bound.and_then(|bound| {
                        let narrow = i64::try_from(bound).ok();
                        if narrow.is_none() {
                            self.at(name, |reader| {
                                reader.fault("expected an integer of 64 bits with a sign");
                            });
                        }
                        narrow
                    })
                };
                Some(Shape::Number {
                    min: narrow(min, "minimum"),
                    max: narrow(max, "maximum"),
                })
            }
            Some("array") => {
                self.object(value, &known(&["items", "type"]))?;
                let Some(items) = members.get("items") else {
                    self.fault("`items` is missing");
                    return None;
                };
                let inner = self.at("items", |reader| reader.shape(items, false))?;
                Some(Shape::List(Box::new(inner)))
            }
            Some("object") => {
                self.object(value, &known(&["additionalProperties", "type"]))?;
                let Some(values) = members.get("additionalProperties") else {
                    self.fault(
                        "`additionalProperties` is missing; a closed object stands in `$defs`",
                    );
                    return None;
                };
                let inner =
                    self.at("additionalProperties", |reader| reader.shape(values, false))?;
                Some(Shape::Map(Box::new(inner)))
            }
            _ => {
                self.at("type", |reader| {
                    reader.fault(
                        "expected \"string\", \"boolean\", \"integer\", \"number\", \"array\" or \
                         \"object\"",
                    );
                });
                None
            }
        }
    }

    fn bound(&mut self, members: &Map<String, Value>, name: &str) -> Option<i128> {
        let value = members.get(name)?;
        let bound = value
            .as_i64()
            .map(i128::from)
            .or_else(|| value.as_u64().map(i128::from));
        if bound.is_none() {
            self.at(name, |reader| {
                reader
                    .fault("expected an integer of 64 bits; bounds are written without a fraction");
            });
        }
        bound
    }

    fn order(&mut self, min: Option<i128>, max: Option<i128>) {
        if let (Some(min), Some(max)) = (min, max) {
            if min > max {
                self.fault(format!("`minimum` {min} is above `maximum` {max}"));
            } else if min < 0 && max > i128::from(i64::MAX) {
                self.fault("no integer of 64 bits holds everything between the bounds");
            }
        }
    }

    /// `{"$ref": "#/$defs/Name"}` and nothing beside it.
    fn reference(&mut self, value: &Value) -> Option<String> {
        self.object(value, &["$ref"])?;
        self.reference_of(value)
    }

    fn reference_of(&mut self, value: &Value) -> Option<String> {
        let name = value
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|target| target.strip_prefix("#/$defs/"));
        if name.is_none() {
            self.at("$ref", |reader| {
                reader.fault("expected a reference such as \"#/$defs/Name\"");
            });
        }
        // What a pointer escapes.
        name.map(|name| name.replace("~1", "/").replace("~0", "~"))
    }

    fn method(&mut self, value: &Value) -> Option<Method> {
        let members = self.object(
            value,
            &["class", "direction", "notification", "params", "result"],
        )?;
        let class = self.string(members, "class");
        let written = self.string(members, "direction");
        let direction = written.and_then(|written| {
            let known = Direction::ALL
                .into_iter()
                .find(|direction| direction.as_str() == written);
            if known.is_none() {
                let names = Direction::ALL.map(Direction::as_str).join("`, `");
                self.at("direction", |reader| {
                    reader.fault(format!("expected one of `{names}`"));
                });
            }
            known
        });
        let notification = self.boolean(members, "notification");
        let params = members.get("params").unwrap_or(&Value::Null);
        let params = self.at("params", |reader| reader.reference(params));
        let result = match members.get("result") {
            Some(Value::Null) => Some(None),
            Some(value) => self
                .at("result", |reader| reader.reference(value))
                .map(Some),
            None => {
                self.at("result", |reader| {
                    reader.fault("expected a reference, or `null` for a notification");
                });
                None
            }
        };
        if let (Some(direction), Some(notification)) = (direction, notification)
            && direction.is_notification() != notification
        {
            self.at("notification", |reader| {
                reader.fault(format!(
                    "expected `{}`, as `direction` says",
                    direction.is_notification()
                ));
            });
        }
        if let (Some(direction), Some(result)) = (direction, &result)
            && direction.is_notification() != result.is_none()
        {
            self.at("result", |reader| {
                reader.fault("a request has a result, a notification has none");
            });
        }
        Some(Method {
            direction: direction?,
            class: class?,
            params: params?,
            result: result?,
        })
    }

    fn error(&mut self, value: &Value) -> Option<(String, ErrorTerms)> {
        let members = self.object(value, &["jsonRpcCode", "message", "reason", "retryable"])?;
        let code = members.get("jsonRpcCode").and_then(Value::as_i64);
        if code.is_none() {
            self.at("jsonRpcCode", |reader| {
                reader.fault("expected an integer of 64 bits with a sign");
            });
        }
        let message = self.string(members, "message");
        let reason = self.string(members, "reason");
        let retryable = self.boolean(members, "retryable");
        Some((
            reason?,
            ErrorTerms {
                code: code?,
                message: message?,
                retryable: retryable?,
            },
        ))
    }

    fn documents(&mut self, value: &Value) -> Option<MemberDocuments> {
        let members = self.object(value, &["by", "types"])?;
        let by = self.string(members, "by");
        let types = self.section(members, "types", Self::reference);
        Some(MemberDocuments { by: by?, types })
    }

    fn hook(&mut self, value: &Value) -> Option<Hook> {
        let members = self.object(value, &["payload", "replacement"])?;
        let payload = members.get("payload").unwrap_or(&Value::Null);
        let (ty, fixed) = self.at("payload", |reader| {
            reader.object(payload, &["$ref", "properties"])?;
            let ty = reader.reference_of(payload)?;
            let fixed = match payload.as_object() {
                Some(members) if members.contains_key("properties") => {
                    reader.section(members, "properties", |reader, value| {
                        let members = reader.object(value, &["const"])?;
                        reader.string(members, "const")
                    })
                }
                Some(_) | None => BTreeMap::new(),
            };
            Some((ty, fixed))
        })?;
        let value = members.get("replacement").unwrap_or(&Value::Null);
        let replacement = self.at("replacement", |reader| {
            reader.replacement(value, &ty, &fixed)
        })?;
        Some(Hook {
            payload: ty,
            fixed,
            replacement,
            terms: None,
        })
    }

    fn replacement(
        &mut self,
        value: &Value,
        payload: &str,
        fixed: &BTreeMap<String, String>,
    ) -> Option<Replacement> {
        let members = self.object(value, &["$ref", "anyOf", "properties", "required"])?;
        if self.reference_of(value)? != payload {
            self.at("$ref", |reader| {
                reader.fault(format!("expected the type of the payload, {payload:?}"));
            });
        }
        let mut replacement = Replacement::default();
        if members.contains_key("required") {
            let required = self.at("required", |reader| reader.names(members.get("required")));
            replacement.required = required.into_iter().collect();
        }
        if let Some(any) = members.get("anyOf") {
            self.at("anyOf", |reader| {
                for (index, item) in reader.list(Some(any)).iter().enumerate() {
                    let names = reader.at(&index.to_string(), |reader| {
                        let members = reader.object(item, &["required"])?;
                        let names =
                            reader.at("required", |reader| reader.names(members.get("required")));
                        if names.len() != 1 {
                            reader.fault("expected one required member");
                        }
                        Some(names)
                    });
                    replacement.any_of.extend(names.into_iter().flatten());
                }
            });
            replacement.any_of.sort_unstable();
        }
        if members.contains_key("properties") {
            let properties = self.section(members, "properties", |reader, value| {
                let members = reader.object(value, &["const", "minLength", "pattern"])?;
                Some(members.clone())
            });
            for (name, keywords) in properties {
                self.at("properties", |reader| {
                    reader.at(&name, |reader| {
                        let fixed = fixed.get(&name).map(String::as_str);
                        if keywords.get("const").and_then(Value::as_str) != fixed {
                            reader.fault("`const` is not that of the payload");
                        }
                        if let Some(length) = keywords.get("minLength") {
                            if length.as_u64() != Some(1) {
                                reader.fault("expected a `minLength` of 1");
                            }
                            replacement.non_empty.push(name.clone());
                        }
                        if let Some(pattern) = keywords.get("pattern") {
                            if pattern.as_str() != Some(OBJECT_TEXT) {
                                reader.fault(format!("expected the `pattern` {OBJECT_TEXT:?}"));
                            }
                            replacement.object_text.push(name.clone());
                        }
                    });
                });
            }
        }
        Some(replacement)
    }
}
