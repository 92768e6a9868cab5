//! Filters of rows, as they are written on the command line.
//!
//! ```text
//! any     = all { OR all }
//! all     = not { AND not }
//! not     = NOT not | '(' any ')' | test
//! test    = column IS [NOT] NULL
//!         | column ( = | != | <> | < | <= | > | >= ) literal
//!         | column [NOT] ( IN '(' literal { , literal } ')' | BETWEEN literal AND literal | LIKE 'text%' )
//! column  = name { . name }              name = word | "any text"
//! literal = 12.5 | 'any text' | TRUE | FALSE
//! ```

mod tokens;

use crate::failure::Failure;
use arrow_array::{RecordBatchReader, Scalar};
use arrow_cast::cast;
use arrow_schema::DataType;
use arrow_shard::Shard;
use arrow_shard::read::{Literal, Predicate, Projection, col, lit};
use std::str::FromStr;
use tokens::{Token, error, tokens};

/// Parentheses and NOTs within each other, at most: reading them takes room on the stack.
const MAX_DEPTH: usize = 200;

/// Reads a filter of the rows of a shard. Literals are compared with the values of a column by what
/// they are: text is read as a date or a time, and no integer equals 1.5.
pub(crate) fn parse(text: &str, shard: &Shard) -> Result<Predicate, Failure> {
    let mut parser = Parser {
        shard,
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
    shard: &'a Shard,
    /// The tokens with their places, the last of which is the end.
    tokens: Vec<(usize, Token<'a>)>,
    next: usize,
    depth: usize,
}

/// A column, and the type of its values.
struct Column {
    path: String,
    data_type: DataType,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].1
    }

    /// The place of the next token.
    fn place(&self) -> usize {
        self.tokens[self.next].0
    }

    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn expected(&self, what: &str) -> Failure {
        error(
            self.place(),
            &format!("expected {what}, found {}", self.peek()),
        )
    }

    /// Whether the next token is this keyword or symbol, which is then behind.
    fn takes(&mut self, token: &str) -> bool {
        let found = self.peek().is(token);
        if found {
            self.advance();
        }
        found
    }

    fn demand(&mut self, token: &str) -> Result<(), Failure> {
        match self.takes(token) {
            true => Ok(()),
            false => Err(self.expected(&format!("`{token}`"))),
        }
    }

    fn any(&mut self) -> Result<Predicate, Failure> {
        let mut any = self.all()?;
        while self.takes("OR") {
            any = any.or(self.all()?);
        }
        Ok(any)
    }

    fn all(&mut self) -> Result<Predicate, Failure> {
        let mut all = self.not()?;
        while self.takes("AND") {
            all = all.and(self.not()?);
        }
        Ok(all)
    }

    fn not(&mut self) -> Result<Predicate, Failure> {
        let start = self.place();
        if self.depth == MAX_DEPTH {
            let most =
                format!("expected at most {MAX_DEPTH} parentheses or NOTs within each other");
            return Err(error(start, &most));
        }
        self.depth += 1;
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

    fn test(&mut self) -> Result<Predicate, Failure> {
        let column = self.column()?;
        let tested = || col(&column.path);
        if self.takes("IS") {
            let not = self.takes("NOT");
            self.demand("NULL")?;
            return Ok(match not {
                true => tested().is_not_null(),
                false => tested().is_null(),
            });
        }
        let not = self.takes("NOT");
        let predicate = if self.takes("IN") {
            self.demand("(")?;
            let mut literals = vec![self.literal(&column)?];
            while self.takes(",") {
                literals.push(self.literal(&column)?);
            }
            match self.takes(")") {
                true => tested().is_in(literals),
                false => return Err(self.expected("`,` or `)`")),
            }
        } else if self.takes("BETWEEN") {
            let low = self.literal(&column)?;
            self.demand("AND")?;
            tested().between(low, self.literal(&column)?)
        } else if self.takes("LIKE") {
            self.pattern(&column)?
        } else if not {
            return Err(self.expected("IN, BETWEEN or LIKE"));
        } else if self.takes("=") {
            tested().eq(self.literal(&column)?)
        } else if self.takes("!=") || self.takes("<>") {
            tested().not_eq(self.literal(&column)?)
        } else if self.takes("<") {
            tested().lt(self.literal(&column)?)
        } else if self.takes("<=") {
            tested().lt_eq(self.literal(&column)?)
        } else if self.takes(">") {
            tested().gt(self.literal(&column)?)
        } else if self.takes(">=") {
            tested().gt_eq(self.literal(&column)?)
        } else {
            return Err(self.expected("=, !=, <, <=, >, >=, IS, IN, BETWEEN or LIKE"));
        };
        Ok(if not { !predicate } else { predicate })
    }

    fn column(&mut self) -> Result<Column, Failure> {
        let start = self.place();
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
        self.check(start, &col(&path).is_null())?;
        let data_type = self.data_type(&path).map_err(|e| at(start, e))?;
        Ok(Column { path, data_type })
    }

    /// The type of the values at a path, which is one that a predicate may have.
    fn data_type(&self, path: &str) -> Result<DataType, arrow_shard::Error> {
        let scan = self.shard.scan().with_projection([path]).build()?;
        let schema = scan.schema();
        let column = schema.field(0);
        // The names that follow that of the column in the path.
        let below = path.get(column.name().len()..).unwrap_or_default();
        let mut data_type = column.data_type();
        for _ in below.matches('.') {
            if let DataType::Struct(members) = data_type {
                data_type = members[0].data_type();
            }
        }
        loop {
            data_type = match data_type {
                DataType::Dictionary(_, values) => values,
                DataType::RunEndEncoded(_, values) => values.data_type(),
                plain => return Ok(plain.clone()),
            };
        }
    }

    fn literal(&mut self, column: &Column) -> Result<Literal, Failure> {
        let start = self.place();
        let literal = match self.peek() {
            Token::Text(text) => lit(text),
            Token::Number(number) => {
                number_of(number, &column.data_type).map_err(|what| error(start, &what))?
            }
            word if word.is("TRUE") => lit(true),
            word if word.is("FALSE") => lit(false),
            word if word.is("NULL") => {
                let what = "expected a value; IS NULL and IS NOT NULL test for nulls";
                return Err(error(start, what));
            }
            _ => return Err(self.expected("a number, 'text', TRUE or FALSE")),
        };
        self.check(start, &col(&column.path).eq(literal.clone()))?;
        self.advance();
        Ok(literal)
    }

    /// What follows LIKE.
    fn pattern(&mut self, column: &Column) -> Result<Predicate, Failure> {
        let Token::Text(pattern) = self.peek() else {
            return Err(self.expected("a 'text%'"));
        };
        let prefix = pattern.strip_suffix('%');
        let Some(prefix) = prefix.filter(|prefix| !prefix.contains(['%', '_'])) else {
            return Err(error(
                self.place(),
                &format!(
                    "expected a pattern that is a prefix and one `%` at its end, found '{pattern}'; \
                     no other pattern can be searched for"
                ),
            ));
        };
        let predicate = col(&column.path).starts_with(prefix);
        self.check(self.place(), &predicate)?;
        self.advance();
        Ok(predicate)
    }

    /// Says of a predicate that ends at a place if the shard has not the column, or no such values.
    fn check(&self, place: usize, predicate: &Predicate) -> Result<(), Failure> {
        let nothing = Projection::Indices(Vec::new());
        let scan = self.shard.scan().with_projection(nothing);
        let built = scan.with_filter(predicate.clone()).build();
        built.map(drop).map_err(|e| at(place, e))
    }
}

/// An error of the library about what is written at a place.
fn at(place: usize, e: arrow_shard::Error) -> Failure {
    Failure::from(e).within(format_args!("--filter, character {place}"))
}

/// The literal of a number that is compared with values of a type.
fn number_of(number: &str, data_type: &DataType) -> Result<Literal, String> {
    if data_type.is_decimal() {
        // A float is not what is written.
        return Ok(lit(number.trim_start_matches('+')));
    }
    let integer = i64::from_str(number).map(lit);
    if let DataType::Duration(unit) = data_type {
        let what = || format!("expected a whole number of units of {unit}, found {number}");
        let integer = integer.map_err(|_| what())?;
        let duration = cast(integer.array(), data_type).map_err(|_| what())?;
        return Literal::try_new(&Scalar::new(duration)).map_err(|e| e.to_string());
    }
    let integer = integer.or_else(|_| u64::from_str(number).map(lit));
    let float = || f64::from_str(number).map(lit).map_err(|e| e.to_string());
    integer.or_else(|_| float())
}

#[cfg(test)]
mod tests;
