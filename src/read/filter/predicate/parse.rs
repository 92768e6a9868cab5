//! Predicates as text.
//!
//! ```text
//! any     = all { OR all }
//! all     = not { AND not }
//! not     = NOT not | '(' any ')' | test
//! test    = column                       of a Boolean
//!         | column IS [NOT] ( NULL | TRUE | FALSE | DISTINCT FROM ( listed | column ) )
//!         | column compare ( literal | column ) | literal compare column
//!         | column [NOT] ( IN '(' listed { , listed } ')' | BETWEEN literal AND literal | ( LIKE | ILIKE ) 'te_t%' )
//! compare = '=' | '==' | '!=' | '<>' | '<' | '<=' | '>' | '>='
//! column  = name { . name } | ( LOWER | UPPER | LENGTH ) '(' column ')'
//! name    = word | "any text"
//! listed  = literal | NULL
//! literal = 12.5 | 'any text' | TRUE | FALSE | x'00ff' | ( DATE | TIME | TIMESTAMP ) 'any text'
//! ```
//!
//! `docs/filters.md` describes the language.

pub(super) mod tokens;

use super::column_comparison::columns_compared;
use super::like::{Case, Pattern, may_be_like};
use super::literal_text::time_literal;
use super::number::number;
use super::text_function::TextFunction;
use super::time_word::TimeWord;
use super::{ColumnRef, Comparison, Literal, Predicate, col, lit};
use crate::error::{Error, ErrorKind, Result};
use tokens::{Token, error, tokens};

/// Most parentheses and NOTs within each other; parsing recurses once per level.
const MAX_DEPTH: usize = 200;

/// Checks whether a part of a predicate can be evaluated.
type Check<'a> = &'a dyn Fn(&Predicate) -> Result<()>;

/// Parses a predicate.
///
/// # Errors
/// Returns [`InvalidArgument`](crate::ErrorKind::InvalidArgument) where the text makes no sense, or the errors of
/// `check`, with the place in the text.
pub(in crate::read) fn parse(text: &str, check: Check<'_>) -> Result<Predicate> {
    let mut parser = Parser {
        check,
        tokens: tokens(text)?,
        next: 0,
        depth: 0,
    };
    let predicate = parser.any()?;
    match parser.peek() {
        Token::End => Ok(predicate),
        _ => Err(parser.expected("AND, OR or the end")),
    }
}

struct Parser<'a> {
    check: Check<'a>,
    /// The tokens with their places; the last token is the end.
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].1
    }

    /// Returns the place of the next token.
    fn place(&self) -> usize {
        self.tokens[self.next].0
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn expected(&self, what: &str) -> Error {
        error(
            self.place(),
            &format!("expected {what}, found {}", self.peek()),
        )
    }

    /// Whether the next token is this keyword or symbol; if so, consumes it.
    fn takes(&mut self, token: &str) -> bool {
        let found = self.peek().is(token);
        if found {
            self.advance();
        }
        found
    }

    fn demand(&mut self, token: &str) -> Result<()> {
        if self.takes(token) {
            Ok(())
        } else {
            Err(self.expected(&format!("`{token}`")))
        }
    }

    fn any(&mut self) -> Result<Predicate> {
        let mut any = self.all()?;
        while self.takes("OR") {
            any = any.or(self.all()?);
        }
        Ok(any)
    }

    fn all(&mut self) -> Result<Predicate> {
        let mut all = self.not()?;
        while self.takes("AND") {
            all = all.and(self.not()?);
        }
        Ok(all)
    }

    fn not(&mut self) -> Result<Predicate> {
        self.depth += 1;
        self.check_depth()?;
        let predicate = if self.takes("NOT") {
            self.not()?.not()
        } else if self.takes("(") {
            let any = self.any()?;
            self.demand(")")?;
            any
        } else {
            self.test()?
        };
        self.depth -= 1;
        Ok(predicate)
    }

    /// Fails if the next token is too deep.
    fn check_depth(&self) -> Result<()> {
        if self.depth <= MAX_DEPTH {
            return Ok(());
        }
        let most = format!("expected at most {MAX_DEPTH} parentheses or NOTs within each other");
        Err(error(self.place(), &most))
    }

    fn test(&mut self) -> Result<Predicate> {
        let start = self.place();
        if self.is_value() {
            return self.turned();
        }
        let path = self.column()?;
        let tested = || path.clone();
        if self.takes("IS") {
            let not = self.takes("NOT");
            let truth = self.peek().is("TRUE");
            let predicate = if self.takes("NULL") {
                tested().is_null()
            } else if truth || self.peek().is("FALSE") {
                self.same(&path)?
            } else if self.takes("DISTINCT") {
                self.demand("FROM")?;
                !self.same(&path)?
            } else {
                return Err(self.expected("NULL, TRUE, FALSE or DISTINCT FROM"));
            };
            return Ok(if not { !predicate } else { predicate });
        }
        if let Some(comparison) = self.comparison() {
            return self.compared(path, comparison);
        }
        let not = self.takes("NOT");
        let predicate = if self.takes("IN") {
            self.demand("(")?;
            let mut literals = vec![self.listed(&path)?];
            while self.takes(",") {
                literals.push(self.listed(&path)?);
            }
            if self.takes(")") {
                tested().is_in(literals)
            } else {
                return Err(self.expected("`,` or `)`"));
            }
        } else if self.takes("BETWEEN") {
            let low = self.literal(&path)?;
            self.demand("AND")?;
            tested().between(low, self.literal(&path)?)
        } else if self.takes("LIKE") {
            self.pattern(&path, Case::Kept)?
        } else if self.takes("ILIKE") {
            self.pattern(&path, Case::Ignored)?
        } else if not {
            return Err(self.expected("IN, BETWEEN, LIKE or ILIKE"));
        } else if self.is_end_of_test() {
            let predicate = tested().eq(true);
            self.check(start, &predicate)?;
            predicate
        } else {
            return Err(self.expected("=, !=, <, <=, >, >=, IS, IN, BETWEEN, LIKE or ILIKE"));
        };
        Ok(if not { !predicate } else { predicate })
    }

    /// Whether a column stands alone.
    fn is_end_of_test(&self) -> bool {
        let next = self.peek();
        *next == Token::End || ["AND", "OR", ")"].iter().any(|end| next.is(end))
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let signs = [
            ("=", Comparison::Eq),
            ("==", Comparison::Eq),
            ("!=", Comparison::NotEq),
            ("<>", Comparison::NotEq),
            ("<", Comparison::Lt),
            ("<=", Comparison::LtEq),
            (">", Comparison::Gt),
            (">=", Comparison::GtEq),
        ];
        let found = signs.into_iter().find(|(sign, _)| self.takes(sign));
        found.map(|(_, comparison)| comparison)
    }

    /// Parses the rest of a comparison, after its sign.
    fn compared(&mut self, path: ColumnRef, comparison: Comparison) -> Result<Predicate> {
        if let Some((predicate, _)) = self.compared_column(&path, comparison)? {
            return Ok(predicate);
        }
        let literal = self.literal(&path)?;
        Ok(path.compare(comparison, literal))
    }

    /// Parses the other column of a comparison, if there is one. Returns the comparison and the path of that column.
    fn compared_column(
        &mut self,
        path: &ColumnRef,
        comparison: Comparison,
    ) -> Result<Option<(Predicate, ColumnRef)>> {
        if !self.peek().is_name() || self.is_value() {
            return Ok(None);
        }
        let start = self.place();
        let advice = match self.peek() {
            Token::Name(_) => Some("put text in single quotes"),
            Token::Word(word) if is_float(word) => Some("put NaN and Infinity in single quotes"),
            _ => None,
        };
        let other = self.column().map_err(|e| match (e.kind(), advice) {
            (ErrorKind::UnknownColumn, Some(advice)) => {
                let message = format!("{}; {advice}", e.message());
                Error::new(e.kind(), message).within(e.element())
            }
            _ => e,
        })?;
        let predicate = columns_compared(path.clone(), comparison, other.clone());
        self.check(start, &predicate)?;
        Ok(Some((predicate, other)))
    }

    /// Parses the rest of IS NOT DISTINCT FROM, which is never unknown: a null equals a null, and nothing else.
    fn same(&mut self, path: &ColumnRef) -> Result<Predicate> {
        let present = |path: &ColumnRef| path.clone().is_not_null();
        if self.takes("NULL") {
            return Ok(path.clone().is_null());
        }
        if let Some((equal, other)) = self.compared_column(path, Comparison::Eq)? {
            let both = equal.and(present(path)).and(present(&other));
            let neither = path.clone().is_null().and(other.is_null());
            return Ok(both.or(neither));
        }
        Ok(path.clone().eq(self.literal(path)?).and(present(path)))
    }

    /// Parses a column, or a function of one.
    fn column(&mut self) -> Result<ColumnRef> {
        let start = self.place();
        if let Some(function) = self.function() {
            self.depth += 1;
            self.check_depth()?;
            self.advance();
            self.demand("(")?;
            let path = self.column()?.applied(function);
            self.demand(")")?;
            self.depth -= 1;
            self.check(start, &path.clone().is_null())?;
            return Ok(path);
        }
        let mut path = match self.peek() {
            Token::Word(word) if !self.peek().is_keyword() => (*word).to_owned(),
            Token::Name(name) => name.clone(),
            _ => return Err(self.expected("a column, NOT or `(`")),
        };
        self.advance();
        while self.takes(".") {
            path.push('.');
            match self.peek() {
                Token::Word(word) => path.push_str(word),
                Token::Name(name) => path.push_str(name),
                _ => return Err(self.expected("the name of a member")),
            }
            self.advance();
        }
        let path = col(path);
        self.check(start, &path.clone().is_null())?;
        Ok(path)
    }

    /// Returns the function that is next. A column may have such a name, too, but no parenthesis follows it.
    fn function(&self) -> Option<TextFunction> {
        let (_, after) = self.tokens.get(self.next + 1)?;
        let mut all = TextFunction::ALL.into_iter();
        all.find(|function| self.peek().is(function.name()) && after.is("("))
    }

    /// Parses a comparison with the literal on its left side.
    fn turned(&mut self) -> Result<Predicate> {
        let start = self.place();
        let literal = self.value()?;
        let Some(comparison) = self.comparison() else {
            return Err(self.expected("=, !=, <, <=, > or >="));
        };
        if self.is_value() {
            return Err(self.expected("a column on one side of a comparison"));
        }
        let path = self.column()?;
        self.check(start, &path.clone().eq(literal.clone()))?;
        Ok(path.compare(comparison.turned(), literal))
    }

    /// Parses an item of a list: a literal or NULL.
    fn listed(&mut self, path: &ColumnRef) -> Result<Literal> {
        let start = self.place();
        if !self.takes("NULL") {
            return self.literal(path);
        }
        let null = lit(None::<bool>);
        self.check(start, &path.clone().eq(null.clone()))?;
        Ok(null)
    }

    /// Parses a literal to compare with a column.
    fn literal(&mut self, path: &ColumnRef) -> Result<Literal> {
        let start = self.place();
        let literal = self.value()?;
        self.check(start, &path.clone().eq(literal.clone()))?;
        Ok(literal)
    }

    /// Whether a literal is next, or NULL in its place.
    fn is_value(&self) -> bool {
        let next = self.peek();
        matches!(next, Token::Text(_) | Token::Number(_) | Token::Bytes(_))
            || ["TRUE", "FALSE", "NULL"].iter().any(|word| next.is(word))
            || self.time_word().is_some()
    }

    /// Returns the keyword before a text. A column may have such a name, too, but no text follows it.
    fn time_word(&self) -> Option<TimeWord> {
        let word = TimeWord::ALL
            .iter()
            .find(|word| self.peek().is(word.text()));
        let (_, after) = self.tokens.get(self.next + 1)?;
        word.filter(|_| matches!(after, Token::Text(_))).copied()
    }

    fn value(&mut self) -> Result<Literal> {
        let word = self.time_word();
        if word.is_some() {
            self.advance();
        }
        let start = self.place();
        let literal = match (self.peek(), word) {
            (Token::Text(text), Some(word)) => {
                time_literal(word, text).map_err(|e| at(start, e))?
            }
            (Token::Text(text), None) => lit(text),
            (Token::Bytes(bytes), _) => lit(bytes),
            (Token::Number(text), _) => number(text).map_err(|e| at(start, e))?,
            (word, _) if word.is("TRUE") => lit(true),
            (word, _) if word.is("FALSE") => lit(false),
            (word, _) if word.is("NULL") => {
                let what = "expected a value; IS NULL and IS NOT NULL test for nulls";
                return Err(error(start, what));
            }
            _ => return Err(self.expected("a number, 'text', TRUE or FALSE")),
        };
        self.advance();
        Ok(literal)
    }

    /// Parses the rest of a LIKE or ILIKE, after its keyword.
    fn pattern(&mut self, path: &ColumnRef, case: Case) -> Result<Predicate> {
        let Token::Text(pattern) = self.peek() else {
            return Err(self.expected("a 'text%'"));
        };
        let pattern = Pattern::parse(pattern, case).map_err(|e| at(self.place(), e))?;
        self.check(self.place(), &may_be_like(path, case))?;
        let predicate = pattern.predicate(path);
        self.check(self.place(), &predicate)?;
        self.advance();
        Ok(predicate)
    }

    /// Checks a part of the predicate; errors name the place.
    fn check(&self, place: usize, part: &Predicate) -> Result<()> {
        (self.check)(part).map_err(|e| at(place, e))
    }
}

/// Whether a word is a float that SQL writes as text.
fn is_float(word: &str) -> bool {
    let all = ["nan", "inf", "infinity"];
    all.iter().any(|float| word.eq_ignore_ascii_case(float))
}

/// Returns an error with a place in the text. What was checked there is only a part of the predicate, made for the
/// check, so the error for it is not named as the cause.
fn at(place: usize, e: Error) -> Error {
    Error::new(e.kind(), e.message()).within(format!("character {place}"))
}

#[cfg(test)]
mod tests;
