//! Which user does a request name?

use serde_json::Value;

/// The fields in which services let a client name its user.
const FIELDS: [&str; 3] = ["/safety_identifier", "/user", "/metadata/user_id"];

/// The id of the user whom a body names; none is the empty one. It is hashed and goes nowhere else.
pub(crate) fn user(body: &Value) -> String {
    let named = FIELDS.iter().filter_map(|field| body.pointer(field));
    named.filter_map(Value::as_str).find(|id| !id.is_empty()).map(lasting).unwrap_or_default()
}

/// The id without a session's: Claude Code names device, account and session in one, and a map that
/// ended with the session would be drawn anew in the next.
fn lasting(id: &str) -> String {
    if let Ok(Value::Object(mut parts)) = serde_json::from_str(id) {
        parts.remove("session_id");
        return Value::Object(parts).to_string();
    }
    id.rsplit_once("_session_").map_or(id, |(user, _)| user).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_user_is_named_in_the_fields_of_each_service() {
        assert_eq!(user(&json!({"model": "m"})), "");
        assert_eq!(user(&json!({"user": "alice"})), "alice");
        assert_eq!(user(&json!({"user": "alice", "safety_identifier": "hash"})), "hash");
        assert_eq!(user(&json!({"metadata": {"user_id": "alice"}})), "alice");
        assert_eq!(user(&json!({"user": "", "metadata": {"user_id": 7}})), "");
    }

    #[test]
    fn a_session_is_no_user() {
        let of = |id: &str| user(&json!({"metadata": {"user_id": id}}));
        assert_eq!(of("user_1f_account__session_aa-bb"), of("user_1f_account__session_cc-dd"));
        assert_ne!(of("user_1f_account__session_aa-bb"), of("user_2e_account__session_aa-bb"));
        let json = |device: &str, session: &str| {
            of(&json!({"device_id": device, "account_uuid": "", "session_id": session}).to_string())
        };
        assert_eq!(json("d", "1"), json("d", "2"));
        assert_ne!(json("d", "1"), json("e", "1"));
    }
}
