//! What a change is and how it can be judged. Finds and judges nothing.

use std::{collections::BTreeSet, fmt};

use super::witness::{Carrier, Witness};
use crate::contract::DocumentKind;

macro_rules! named {
    ($(#[$outer:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// Every one of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// As reports spell it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

named! {
    /// What kind of thing changed.
    Kind {
        /// The id of the protocol.
        ProtocolId = "protocol-id",
        /// The major version.
        ProtocolMajor = "protocol-major",
        /// The title of the protocol.
        ProtocolTitle = "protocol-title",
        /// The document of the payloads is there or gone.
        PayloadsDocument = "payloads-document",
        /// The id of the document of the payloads.
        PayloadsId = "payloads-id",
        /// The title of the document of the payloads.
        PayloadsTitle = "payloads-title",
        /// A type that nothing uses was added, or stands in another document.
        TypeAdded = "type-added",
        /// A type that nothing used was removed.
        TypeRemoved = "type-removed",
        /// A type has another name and is otherwise as it was.
        TypeRenamed = "type-renamed",
        /// A member was added.
        MemberAdded = "member-added",
        /// A member was removed.
        MemberRemoved = "member-removed",
        /// A member became required or optional.
        Required = "required",
        /// The type of a value.
        ValueType = "value-type",
        /// A lower or upper bound.
        Bound = "bound",
        /// Whether text may be blank.
        Blank = "blank",
        /// The width of an integer.
        Width = "width",
        /// How a string is spelled.
        Spelling = "spelling",
        /// The name that members share for their scalar or enum.
        SharedName = "shared-name",
        /// What it means that a member is absent.
        Absence = "absence",
        /// Whether a value may travel by reference.
        Externalizable = "externalizable",
        /// Which document stands in a member of any JSON.
        Documents = "documents",
        /// A value of an enum was added.
        ValueAdded = "value-added",
        /// A value of an enum was removed.
        ValueRemoved = "value-removed",
        /// A rule between members was added.
        RuleAdded = "rule-added",
        /// A rule between members was removed.
        RuleRemoved = "rule-removed",
        /// A method was added.
        MethodAdded = "method-added",
        /// A method was removed.
        MethodRemoved = "method-removed",
        /// Who sends a method, or whether it is answered.
        Direction = "direction",
        /// The class of a method.
        Class = "class",
        /// The type of the params of a method.
        Params = "params",
        /// The type of the result of a method.
        ResultType = "result",
        /// An error was added.
        ErrorAdded = "error-added",
        /// An error was removed.
        ErrorRemoved = "error-removed",
        /// The code of an error.
        ErrorCode = "error-code",
        /// The message of an error.
        ErrorMessage = "error-message",
        /// Whether an error is retryable.
        ErrorRetryable = "error-retryable",
        /// The type of the data of errors.
        ErrorData = "error-data",
        /// A limit was added.
        LimitAdded = "limit-added",
        /// A limit was removed.
        LimitRemoved = "limit-removed",
        /// The value of a limit.
        LimitValue = "limit-value",
        /// The unit of a limit.
        LimitUnit = "limit-unit",
        /// A hook point was added.
        HookAdded = "hook-added",
        /// A hook point was removed.
        HookRemoved = "hook-removed",
        /// The type of the payload of a hook.
        HookPayload = "hook-payload",
        /// A member of a payload that has one value at a hook.
        HookFixed = "hook-fixed",
        /// What a replacement must be.
        Replacement = "replacement",
        /// The timeout family of a hook.
        HookTimeout = "hook-timeout",
        /// The slot of a hook.
        HookSlot = "hook-slot",
        /// The decisions that a hook allows.
        Decisions = "decisions",
        /// What the host takes from a replacement.
        Adopts = "adopts",
        /// A timeout family.
        Timeout = "timeout",
        /// A slot was added.
        SlotAdded = "slot-added",
        /// A slot was removed.
        SlotRemoved = "slot-removed",
        /// What the name of a slot takes.
        SlotParameter = "slot-parameter",
    }
}

named! {
    /// The three ways in which a contract may grow.
    Growth {
        /// A member that may be absent.
        OptionalMember = "optional-member",
        /// A value of an enum: an error reason and a hook point are such values too.
        EnumValue = "enum-value",
        /// A method.
        Method = "method",
    }
}

impl Growth {
    /// What people call it.
    pub fn noun(self) -> &'static str {
        match self {
            Self::OptionalMember => "new optional member",
            Self::EnumValue => "new enum value",
            Self::Method => "new method",
        }
    }
}

named! {
    /// What a major version promises; a forbidden change breaks one of these.
    Law {
        /// Who the protocol is.
        Identity = "identity",
        /// Which members there are.
        Members = "members",
        /// Which of them are required.
        Requiredness = "requiredness",
        /// What their values are.
        Values = "values",
        /// Which enum values there are.
        EnumValues = "enum-values",
        /// Which values travel by reference.
        Externalizable = "externalizable",
        /// What holds between members.
        Rules = "rules",
        /// Which types there are.
        Types = "types",
        /// Which methods there are, and what they are.
        Methods = "methods",
        /// Which errors there are, and what they are.
        Errors = "errors",
        /// The limits.
        Limits = "limits",
        /// The hooks and their terms.
        Hooks = "hooks",
    }
}

impl Law {
    /// The promise, as one sentence.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Identity => {
                "id, major version and titles of a published contract stay as they are"
            }
            Self::Members => {
                "a member is added only where it may be absent, and is never removed or renamed"
            }
            Self::Requiredness => {
                "what is required stays required, and what is optional stays optional"
            }
            Self::Values => {
                "type, bounds, width and spelling of a value never change: both peers are strict, so \
                 loosening breaks as much as tightening"
            }
            Self::EnumValues => "values of an enum are added, never removed",
            Self::Externalizable => "whether a value may travel by reference never changes",
            Self::Rules => {
                "what holds between members never changes; a rule comes only with the member or value \
                 that it is about"
            }
            Self::Types => {
                "a type is added only with what uses it, and is never removed or renamed: the \
                 published document would change"
            }
            Self::Methods => {
                "methods are added, never removed; direction, class, params and result stay as they are"
            }
            Self::Errors => {
                "error reasons are added, never removed; code, message and `retryable` stay as they are"
            }
            Self::Limits => "limits never change, and none comes or goes",
            Self::Hooks => {
                "hook points are added, never removed; payload, decisions, slot, timeout and what a \
                 replacement must be stay as they are"
            }
        }
    }

    /// What a maintainer can do instead.
    pub fn advice(self) -> &'static str {
        match self {
            Self::Identity => {
                "a changed identity is another protocol: publish it as a new major version"
            }
            Self::Members => "add the new member as optional and leave the old one where it is",
            Self::Requiredness => "leave it, or add another optional member beside it",
            Self::Values => "leave it, and add an optional member that has the new type",
            Self::EnumValues => "keep the value; say in its doc line that senders no longer use it",
            Self::Externalizable => "leave it, and add an optional member that is marked",
            Self::Rules => "leave it; hold new members to rules of their own",
            Self::Types => {
                "keep the name (`rust = \"…\"` renames the Rust type alone), or add what uses the type"
            }
            Self::Methods => "leave the method, and add another one",
            Self::Errors => "leave the error, and add another reason",
            Self::Limits => "leave it; another limit is another major version",
            Self::Hooks => "leave the hook point, and add another one",
        }
    }
}

/// What the stability contract says of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever acts on a verdict handles each of them"
)]
pub enum Verdict {
    /// It breaks a promise.
    Forbidden(Law),
    /// It is part of another major version, for which the promises of this one do not hold.
    Major,
    /// It is one of the permitted kinds of growth.
    Allowed(Growth),
    /// It changes neither a message nor a canonical document.
    Unseen,
}

impl Verdict {
    /// As reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Forbidden(_) => "forbidden",
            Self::Major => "major",
            Self::Allowed(_) => "allowed",
            Self::Unseen => "unseen",
        }
    }
}

/// What a change is about, in terms that the definitions use too.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Subject {
    /// The protocol as a whole.
    Protocol,
    /// The document of the payloads as a whole.
    Payloads,
    /// A type.
    Type(String),
    /// A member of a type.
    Member(String, String),
    /// A scalar or an enum that members share, by its name in the definitions.
    Shared(String),
    /// A value of an enum that members share.
    SharedValue(String, String),
    /// A value of the enum of one member.
    Value(String, String, String),
    /// A method.
    Method(String),
    /// An error, by reason.
    Error(String),
    /// A limit.
    Limit(String),
    /// A hook point.
    Hook(String),
    /// A timeout family.
    Timeout(String),
    /// A slot.
    Slot(String),
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protocol => f.write_str("protocol"),
            Self::Payloads => f.write_str("payloads document"),
            Self::Type(name) => write!(f, "type `{name}`"),
            Self::Member(ty, member) => write!(f, "`{ty}.{member}`"),
            Self::Shared(name) => write!(f, "`{name}`"),
            Self::SharedValue(name, value) => write!(f, "value `{value}` of `{name}`"),
            Self::Value(ty, member, value) => write!(f, "value `{value}` of `{ty}.{member}`"),
            Self::Method(name) => write!(f, "method `{name}`"),
            Self::Error(reason) => write!(f, "error `{reason}`"),
            Self::Limit(name) => write!(f, "limit `{name}`"),
            Self::Hook(point) => write!(f, "hook `{point}`"),
            Self::Timeout(name) => write!(f, "timeout `{name}`"),
            Self::Slot(name) => write!(f, "slot `{name}`"),
        }
    }
}

/// A place in a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Place {
    /// The document.
    pub document: DocumentKind,
    /// The place in it, as a JSON pointer; in the new document, or in the old one for what was removed.
    pub pointer: String,
}

/// One change, judged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// What kind of thing changed.
    pub kind: Kind,
    /// What the change is about.
    pub subject: Subject,
    /// What happened to the subject: `is gone`, `may be absent now`.
    pub what: String,
    /// What it was, in words.
    pub old: Option<String>,
    /// What it is, in words.
    pub new: Option<String>,
    /// Every place that the change touches.
    pub places: BTreeSet<Place>,
    /// What the stability contract says of it.
    pub verdict: Verdict,
    /// What came or went with it: types, rules, terms.
    pub carries: Vec<String>,
    /// What else a reader should know.
    pub notes: Vec<String>,
    /// Where peers send what the change touches; known once witnesses were looked for.
    pub carriers: BTreeSet<Carrier>,
    /// Messages that show it; there once they were looked for.
    pub witnesses: Vec<Witness>,
    /// Why there is no witness, where there is none; there once they were looked for.
    pub no_witness: Option<String>,
    /// Where witnesses are looked for.
    pub(super) probe: Probe,
    /// Types that the new side of the change uses, and those that its old side used.
    pub(super) uses: Uses,
}

/// Where witnesses are looked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Probe {
    /// Nowhere: what changed is in no message.
    #[default]
    Nothing,
    /// At members of types, by old names.
    Members(BTreeSet<(String, String)>),
    /// At a whole type, by its old name.
    Type(String),
    /// At a method.
    Method(String),
    /// At the payloads and replacements of a hook.
    Hook(String),
    /// At errors: what a peer says before and after.
    Error(String),
    /// At the document that stands in a member.
    Document(DocumentProbe),
}

/// A member of any JSON in which one document has taken the place of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentProbe {
    /// The type that has the member, by its old name.
    pub(super) parent: String,
    pub(super) member: String,
    /// The sibling that chooses, and what it says.
    pub(super) by: String,
    pub(super) value: String,
    pub(super) old: String,
    pub(super) new: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Uses {
    pub(super) old: BTreeSet<String>,
    pub(super) new: BTreeSet<String>,
}

impl Change {
    pub(super) fn new(
        kind: Kind,
        subject: Subject,
        verdict: Verdict,
        what: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            subject,
            what: what.into(),
            old: None,
            new: None,
            places: BTreeSet::new(),
            verdict,
            carries: Vec::new(),
            notes: Vec::new(),
            carriers: BTreeSet::new(),
            witnesses: Vec::new(),
            no_witness: None,
            probe: Probe::Nothing,
            uses: Uses::default(),
        }
    }

    pub(super) fn was(mut self, old: impl fmt::Display, new: impl fmt::Display) -> Self {
        self.old = Some(old.to_string());
        self.new = Some(new.to_string());
        self
    }

    pub(super) fn at(mut self, document: DocumentKind, pointer: String) -> Self {
        self.places.insert(Place { document, pointer });
        self
    }

    pub(super) fn places(mut self, places: impl IntoIterator<Item = Place>) -> Self {
        self.places.extend(places);
        self
    }

    pub(super) fn probe(mut self, probe: Probe) -> Self {
        self.probe = probe;
        self
    }

    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// One sentence: the subject and what happened to it.
    pub fn summary(&self) -> String {
        let change = match (&self.old, &self.new) {
            (Some(old), Some(new)) => format!(": it was {old}, it is {new}"),
            (Some(old), None) => format!(": it was {old}"),
            (None, Some(new)) => format!(": it is {new}"),
            (None, None) => String::new(),
        };
        format!("{} {}{change}", self.subject, self.what)
    }
}
