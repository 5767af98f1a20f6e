//! Who is let in by `verger serve`, and what becomes of those who try it otherwise.

use serde_json::json;

use crate::rig::Rig;
use crate::serve_rig::Serve;

#[test]
fn whoever_has_the_link_comes_in_once_and_stays_until_they_leave() {
    let rig = Rig::tour();
    let serve = Serve::start(&rig, &[]);
    assert_eq!(serve.json("/api/about")["vault"], "vault");
    let token = serve.link.split_once('#').unwrap().1;
    let again = serve.post_json("/api/login", &json!({ "token": token }));
    assert_eq!((again.status, again.reason().as_str()), (401, "link_stale"));
    assert_eq!(serve.post_json("/api/logout", &json!({})).status, 204);
    assert_eq!(serve.get("/api/about").status, 401);
    serve.end();
}
