//! A part of the API: its routes, each with what it takes and what it is for.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::MethodRouter;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::serve::house::House;

/// A route as it is described.
pub struct Operation {
    /// `get`, `post`, `put` or `delete`.
    pub method: &'static str,
    /// The path, with `{names}`.
    pub path: &'static str,
    /// What it is for, in one line.
    pub about: &'static str,
    /// What it takes: in the address for `get` and `delete`, else as a JSON body.
    pub takes: Option<Schema>,
}

/// Routes and their descriptions.
#[derive(Default)]
pub struct Area {
    router: Router<Arc<House>>,
    operations: Vec<Operation>,
}

/// Takes nothing.
#[derive(Debug, Clone, Copy, Default, JsonSchema, serde::Deserialize)]
pub struct Nothing {}

impl Area {
    /// A route that reads.
    pub fn get<T: JsonSchema, H: Handler<A, Arc<House>>, A: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: H,
    ) -> Area {
        self.add::<T>("get", path, about, axum::routing::get(handler))
    }

    /// A route that does something, or is asked something that belongs into no address.
    pub fn post<T: JsonSchema, H: Handler<A, Arc<House>>, A: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: H,
    ) -> Area {
        self.add::<T>("post", path, about, axum::routing::post(handler))
    }

    /// A route that replaces something.
    pub fn put<T: JsonSchema, H: Handler<A, Arc<House>>, A: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: H,
    ) -> Area {
        self.add::<T>("put", path, about, axum::routing::put(handler))
    }

    /// A route that takes something away.
    pub fn delete<T: JsonSchema, H: Handler<A, Arc<House>>, A: 'static>(
        self,
        path: &'static str,
        about: &'static str,
        handler: H,
    ) -> Area {
        self.add::<T>("delete", path, about, axum::routing::delete(handler))
    }

    fn add<T: JsonSchema>(
        mut self,
        method: &'static str,
        path: &'static str,
        about: &'static str,
        handler: MethodRouter<Arc<House>>,
    ) -> Area {
        let schema = SchemaGenerator::default().into_root_schema_for::<T>();
        let takes = schema.get("properties").is_some().then_some(schema);
        self.operations.push(Operation { method, path, about, takes });
        self.router = self.router.route(path, handler);
        self
    }

    /// Both areas.
    #[must_use]
    pub fn join(mut self, other: Area) -> Area {
        self.router = self.router.merge(other.router);
        self.operations.extend(other.operations);
        self
    }

    /// The routes and what describes them.
    pub fn split(self) -> (Router<Arc<House>>, Vec<Operation>) {
        (self.router, self.operations)
    }
}
