//! Derives `Told`. The texts are those of `thiserror`, so that each sentence stands in one place.

use proc_macro2::{Delimiter, Group, Literal, Spacing, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Fields, Ident, LitStr, Token, Type, parse_macro_input};

/// Derives `tillgate_told::Told`.
#[proc_macro_derive(Told, attributes(told))]
pub fn told(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// The text of `#[error("…", arguments)]`.
struct Text {
    literal: LitStr,
    arguments: Vec<(Option<Ident>, TokenStream)>,
}

/// An argument after the text, with a name if it has one.
struct Argument(Option<Ident>, TokenStream);

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name = if input.peek(Ident) && input.peek2(Token![=]) && !input.peek2(Token![==]) {
            let name = input.parse()?;
            input.parse::<Token![=]>()?;
            Some(name)
        } else {
            None
        };
        let mut tokens = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            tokens.extend([input.parse::<TokenTree>()?]);
        }
        Ok(Self(name, with_fields(tokens)))
    }
}

impl Parse for Text {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let literal = input.parse()?;
        if input.is_empty() {
            return Ok(Self { literal, arguments: Vec::new() });
        }
        input.parse::<Token![,]>()?;
        let arguments = Punctuated::<Argument, Token![,]>::parse_terminated(input)?;
        Ok(Self {
            literal,
            arguments: arguments.into_iter().map(|Argument(name, value)| (name, value)).collect(),
        })
    }
}

/// Replaces `.0` and `.name` at the start of an expression by the fields, as `thiserror` does.
fn with_fields(tokens: TokenStream) -> TokenStream {
    let mut replaced: Vec<TokenTree> = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let inner = with_fields(group.stream());
                replaced.push(TokenTree::Group(Group::new(group.delimiter(), inner)));
            }
            TokenTree::Punct(dot) if dot.as_char() == '.' && begins_expression(replaced.last()) => {
                match tokens.peek() {
                    Some(TokenTree::Ident(name)) => {
                        replaced.push(TokenTree::Ident(name.clone()));
                        tokens.next();
                    }
                    Some(TokenTree::Literal(number)) => {
                        let path = path_of(number);
                        replaced.extend(path);
                        tokens.next();
                    }
                    Some(_) | None => replaced.push(TokenTree::Punct(dot)),
                }
            }
            other @ (TokenTree::Punct(_) | TokenTree::Ident(_) | TokenTree::Literal(_)) => {
                replaced.push(other)
            }
        }
    }
    replaced.into_iter().collect()
}

/// The field of `.0`, and the field of a field of `.0.1`, which is one number for the compiler.
fn path_of(number: &Literal) -> TokenStream {
    let text = number.to_string();
    let mut parts = text.split('.');
    let field = format_ident!("_{}", parts.next().unwrap_or_default());
    let deeper = parts.filter_map(|part| part.parse().ok()).map(Literal::usize_unsuffixed);
    quote!(#field #(.#deeper)*)
}

/// Whether a dot after this token begins an expression, and does not continue one.
fn begins_expression(before: Option<&TokenTree>) -> bool {
    match before {
        None => true,
        Some(TokenTree::Punct(mark)) => {
            mark.as_char() != '?' && (mark.as_char() != '.' || mark.spacing() == Spacing::Alone)
        }
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::None,
        Some(TokenTree::Ident(_) | TokenTree::Literal(_)) => false,
    }
}

/// A place of a text: its name, and the expression of its value. A place without a form, such as
/// `{amount}`, has the value of its type: a sum, a time, a sentence, or a text.
struct Place {
    name: String,
    value: TokenStream,
    /// The type of the field that is the whole value.
    of_type: Option<Type>,
}

/// The text with named places, and the places.
fn places(text: &Text, fields: &[(Ident, Type)]) -> syn::Result<(String, Vec<Place>)> {
    let (mut english, mut places) = (String::new(), Vec::new());
    let (source, mut next) = (text.literal.value(), 0);
    let mut letters = source.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '{' && letter != '}' {
            english.push(letter);
            continue;
        }
        if letters.next_if_eq(&letter).is_some() {
            english.push(letter);
            continue;
        }
        let inner: String = letters.by_ref().take_while(|letter| *letter != '}').collect();
        let (place, form) = inner.split_once(':').unwrap_or((&inner, ""));
        let mut found = place_of(text, fields, place.trim(), form, &mut next)?;
        found.name = name_among(&places, &found);
        english.push_str(&format!("{{{}}}", found.name));
        places.push(found);
    }
    Ok((english, places))
}

/// The name of a place: a number follows it if another place has the same name and another value.
fn name_among(places: &[Place], found: &Place) -> String {
    let is_other = |name: &str| {
        let same = |place: &&Place| place.name == name;
        places
            .iter()
            .find(same)
            .is_some_and(|place| place.value.to_string() != found.value.to_string())
    };
    let numbered = (2..).map(|number| format!("{}_{number}", found.name));
    std::iter::once(found.name.clone())
        .chain(numbered)
        .find(|name| !is_other(name))
        .unwrap_or_default()
}

fn place_of(
    text: &Text,
    fields: &[(Ident, Type)],
    place: &str,
    form: &str,
    next: &mut usize,
) -> syn::Result<Place> {
    let format = if form.is_empty() { "{}".to_owned() } else { format!("{{:{form}}}") };
    let as_text = |value: &TokenStream| {
        quote!(::tillgate_told::TellingValue::Text(::std::format!(#format, #value)))
    };
    let typed = |value: &TokenStream| {
        quote!({
            #[allow(unused_imports)]
            use ::tillgate_told::{AsText as _, InSentence as _, OfItsType as _};
            (&::tillgate_told::Place(#value)).value()
        })
    };
    // An expression is borrowed. With a form it is always a text.
    let of_argument = |value: &TokenStream| {
        if form.is_empty() { typed(&quote!(&(#value))) } else { as_text(value) }
    };
    if place.is_empty() {
        let at = *next;
        *next += 1;
        let missing = || syn::Error::new(text.literal.span(), "a place has no value");
        let (_, value) = text.arguments.get(at).ok_or_else(missing)?;
        return Ok(Place {
            name: name_of(value, fields, at),
            value: of_argument(value),
            of_type: None,
        });
    }
    if let Some((name, value)) =
        text.arguments.iter().find(|(name, _)| name.as_ref().is_some_and(|name| name == place))
    {
        let name = name.as_ref().map(ToString::to_string).unwrap_or_default();
        return Ok(Place { name: camel(&name), value: of_argument(value), of_type: None });
    }
    let ident = if place.starts_with(|first: char| first.is_ascii_digit()) {
        format_ident!("_{place}")
    } else {
        Ident::new(place, text.literal.span())
    };
    let field = fields.iter().find(|(name, _)| *name == ident);
    Ok(match field {
        Some((_, of_type)) if form.is_empty() => Place {
            name: camel(&ident.to_string()),
            value: typed(&quote!(#ident)),
            of_type: Some(of_type.clone()),
        },
        Some(_) | None => Place {
            name: camel(&ident.to_string()),
            value: as_text(&quote!(#ident)),
            of_type: None,
        },
    })
}

/// The name of an expression: that of the first field in it.
fn name_of(value: &TokenStream, fields: &[(Ident, Type)], at: usize) -> String {
    fn first(tokens: TokenStream, fields: &[(Ident, Type)]) -> Option<String> {
        tokens.into_iter().find_map(|token| match token {
            TokenTree::Ident(name) => {
                fields.iter().any(|(field, _)| *field == name).then(|| name.to_string())
            }
            TokenTree::Group(group) => first(group.stream(), fields),
            TokenTree::Punct(_) | TokenTree::Literal(_) => None,
        })
    }
    first(value.clone(), fields).map_or_else(|| format!("value{at}"), |name| camel(&name))
}

/// `amount_sats` as `amountSats`.
fn camel(name: &str) -> String {
    let (digits, name) = (name.starts_with('_'), name.to_lowercase());
    if digits {
        return name;
    }
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |camel, part| {
        let mut letters = part.chars();
        let capital = letters.next().map(|letter| letter.to_ascii_uppercase());
        camel + &capital.into_iter().chain(letters).collect::<String>()
    })
}

/// `PaidBefore` as `PAID_BEFORE`.
fn screaming(name: &str) -> String {
    let mut screaming = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_uppercase() {
            screaming.push('_');
        }
        screaming.extend(letter.to_uppercase());
    }
    screaming
}

/// The fields of a variant, named as in the patterns.
fn fields_of(fields: &Fields) -> Vec<(Ident, Type)> {
    let name = |(at, field): (usize, &syn::Field)| {
        (field.ident.clone().unwrap_or_else(|| format_ident!("_{at}")), field.ty.clone())
    };
    fields.iter().enumerate().map(name).collect()
}

fn text_attribute<'a>(attributes: &'a [Attribute], of: &Ident) -> syn::Result<&'a Attribute> {
    let found = attributes.iter().find(|attribute| attribute.path().is_ident("error"));
    found.ok_or_else(|| syn::Error::new(of.span(), "Told needs a text: #[error(\"…\")]"))
}

/// The arm of one variant, and the statements that add its sentences.
fn variant(
    of: &Ident,
    code: &str,
    path: &TokenStream,
    attributes: &[Attribute],
    fields: &Fields,
) -> syn::Result<(TokenStream, TokenStream)> {
    let attribute = text_attribute(attributes, of)?;
    let named = fields_of(fields);
    let names: Vec<&Ident> = named.iter().map(|(name, _)| name).collect();
    let pattern = match fields {
        Fields::Named(_) => quote!(#path { #(#names),* }),
        Fields::Unnamed(_) => quote!(#path(#(#names),*)),
        Fields::Unit => quote!(#path),
    };
    let text = match attribute.parse_args::<Ident>() {
        Ok(_) => Text { literal: LitStr::new("{0}", of.span()), arguments: Vec::new() },
        Err(_) => attribute.parse_args()?,
    };
    let (english, places) = places(&text, &named)?;
    let (keys, values): (Vec<&String>, Vec<&TokenStream>) =
        places.iter().map(|place| (&place.name, &place.value)).unzip();
    let types: Vec<&Type> = places.iter().filter_map(|place| place.of_type.as_ref()).collect();
    let collect = quote!({
        #[allow(unused_imports)]
        use ::tillgate_told::{HasNoSentences as _, HasSentences as _};
        #((&::tillgate_told::TypeOfPlace::<#types>(::std::marker::PhantomData)).collect(all))|*
    });
    let telling = quote!(::tillgate_told::Telling {
        code: #code.to_owned(),
        values: [#((#keys.to_owned(), #values)),*].into_iter().collect(),
        message: ::std::string::ToString::to_string(self),
        field: ::std::option::Option::None,
    });
    let adds = quote!(all.add(#code, #english););
    // A text that is one value alone is the sentence of that value.
    if let [Place { value, of_type: Some(_), .. }] = places.as_slice()
        && english == format!("{{{}}}", places[0].name)
    {
        let arm = quote!(#pattern => match #value {
            ::tillgate_told::TellingValue::Telling(telling) => *telling,
            ::tillgate_told::TellingValue::Text(_)
            | ::tillgate_told::TellingValue::Sum { .. }
            | ::tillgate_told::TellingValue::Time { .. } => #telling,
        },);
        return Ok((arm, quote!(if !#collect { #adds })));
    }
    let nested = if types.is_empty() { quote!() } else { quote!(let _ = #collect;) };
    Ok((quote!(#pattern => #telling,), quote!(#adds #nested)))
}

/// The beginning of a type's codes: that of `#[told(codes = "…")]`, or else the type's name without
/// `Error`.
fn codes(input: &DeriveInput) -> syn::Result<String> {
    let whole = input.ident.to_string();
    let mut codes = screaming(whole.strip_suffix("Error").unwrap_or(&whole));
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("told")) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("codes") {
                return Err(meta.error("`told` has only `codes`"));
            }
            codes = meta.value()?.parse::<LitStr>()?.value();
            Ok(())
        })?;
    }
    Ok(codes)
}

fn derive(input: &DeriveInput) -> syn::Result<TokenStream> {
    let name = &input.ident;
    let base = codes(input)?;
    let variants = match &input.data {
        Data::Enum(data) => data
            .variants
            .iter()
            .map(|one| {
                let (ident, code) =
                    (&one.ident, format!("{base}_{}", screaming(&one.ident.to_string())));
                variant(ident, &code, &quote!(Self::#ident), &one.attrs, &one.fields)
            })
            .collect::<syn::Result<Vec<_>>>()?,
        Data::Struct(data) => {
            vec![variant(name, &base, &quote!(Self), &input.attrs, &data.fields)?]
        }
        Data::Union(_) => {
            return Err(syn::Error::new(name.span(), "Told is derived for enums and structs"));
        }
    };
    let (arms, adds): (Vec<_>, Vec<_>) = variants.into_iter().unzip();
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        impl #impl_generics ::tillgate_told::Told for #name #type_generics #where_clause {
            #[allow(unused_variables)]
            fn telling(&self) -> ::tillgate_told::Telling {
                match self { #(#arms)* }
            }

            fn sentences(all: &mut ::tillgate_told::Sentences) {
                if all.is_first(::std::any::type_name::<Self>()) {
                    #(#adds)*
                }
            }
        }
    })
}
