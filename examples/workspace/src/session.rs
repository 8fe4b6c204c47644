//! Who is asking.

/// What a person may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Guest,
    Reader,
    Admin,
}

/// One signed-in person, or nobody.
#[derive(Debug)]
pub struct Session {
    pub user: Option<String>,
    pub role: Role,
}

impl Session {
    /// Reads the `X-User` header, which the proxy in front of us sets after it has checked the
    /// password: `name` or `name;admin`.
    pub fn from_header(header: Option<&str>) -> Self {
        match header.map(str::trim).filter(|value| !value.is_empty()) {
            None => Session { user: None, role: Role::Guest },
            Some(value) => {
                let (name, role) = value.split_once(';').unwrap_or((value, ""));
                let role = if role == "admin" { Role::Admin } else { Role::Reader };
                Session { user: Some(name.to_string()), role }
            }
        }
    }
}
