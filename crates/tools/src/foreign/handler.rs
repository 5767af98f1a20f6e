//! What a foreign server may ask of us in turn: little. It gets no sampling and no roots; a form is filled in with the
//! server's own defaults where a person allowed that, and declined otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, FormElicitationCapability, Implementation, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};
use serde_json::{Map, Value};

/// What is done with a form that a server sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Forms {
    /// It is declined, and the server is not told that it could ask.
    #[default]
    Decline,
    /// It is sent back with the defaults that the server wrote into it.
    Defaults,
}

/// The client's side of a connection.
#[derive(Debug, Clone, Default)]
pub struct Handler {
    /// What is done with forms.
    pub forms: Forms,
    /// Set when the server says that its tools changed.
    pub stale: Arc<AtomicBool>,
}

impl ClientHandler for Handler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.forms == Forms::Defaults {
            let form = FormElicitationCapability::new().with_schema_validation(true);
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
        }
        let mut config =
            ClientConfig::new(capabilities, Implementation::new("verger", env!("CARGO_PKG_VERSION")));
        // The newest revision that begins with a handshake; the one without has its own first question.
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        match request {
            ElicitRequestParams::FormElicitationParams { requested_schema, .. }
                if self.forms == Forms::Defaults =>
            {
                let schema = serde_json::to_value(requested_schema).unwrap_or_default();
                Ok(ElicitResult::new(ElicitationAction::Accept).with_content(defaults(&schema)))
            }
            _ => Ok(ElicitResult::new(ElicitationAction::Decline)),
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.stale.store(true, Ordering::Relaxed);
    }
}

/// The defaults that a schema gives for its fields.
fn defaults(schema: &Value) -> Value {
    let fields = schema.get("properties").and_then(Value::as_object);
    let filled = fields.into_iter().flatten().filter_map(|(name, field)| {
        let default = field.get("default").filter(|default| !default.is_null())?;
        Some((name.clone(), default.clone()))
    });
    Value::Object(filled.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_form_is_filled_in_with_its_own_defaults_only() {
        let schema = json!({"properties": {
            "name": {"type": "string", "default": "Ines"}, "age": {"type": "integer", "default": 7},
            "open": {"type": "boolean", "default": false}, "mail": {"type": "string"},
        }});
        assert_eq!(defaults(&schema), json!({"name": "Ines", "age": 7, "open": false}));
        assert_eq!(defaults(&json!({})), json!({}));
    }

    #[test]
    fn a_server_is_told_that_it_may_ask_only_where_it_may() {
        assert!(Handler::default().get_info().capabilities.elicitation.is_none());
        let asks = Handler { forms: Forms::Defaults, ..Handler::default() };
        assert!(asks.get_info().capabilities.elicitation.is_some());
    }
}
