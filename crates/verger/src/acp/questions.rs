//! Questions of the model to the person: as a form where the client has forms, as choices where each question has
//! some, and otherwise nobody is there to ask.

use agent::Answers;
use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, ElicitationAction, ElicitationContentValue, ElicitationFormMode,
    ElicitationPropertySchema, ElicitationSchema, ElicitationSessionScope, MultiSelectPropertySchema,
    PermissionOption, PermissionOptionKind, RequestPermissionRequest, StringPropertySchema, ToolCallUpdate,
    ToolCallUpdateFields,
};
use pipeline::plan::Asked;

use super::asker::{PATIENCE, choose};
use super::desk::Table;

/// Puts questions before the person.
pub async fn put(table: &Table, asked: &[Asked]) -> Answers {
    if asked.is_empty() {
        return Answers::Nobody;
    }
    if table.line.abilities.forms {
        return by_form(table, asked).await;
    }
    if asked.iter().any(|question| question.options.is_empty() || question.several) {
        return Answers::Nobody;
    }
    by_choices(table, asked).await
}

async fn by_choices(table: &Table, asked: &[Asked]) -> Answers {
    let call = table.question();
    let mut answers = Vec::with_capacity(asked.len());
    for question in asked {
        let mut options: Vec<PermissionOption> = question
            .options
            .iter()
            .enumerate()
            .map(|(at, option)| {
                PermissionOption::new(format!("answer_{at}"), option.clone(), PermissionOptionKind::AllowOnce)
            })
            .collect();
        options.push(PermissionOption::new(
            "none",
            "I would rather not say",
            PermissionOptionKind::RejectOnce,
        ));
        let fields = ToolCallUpdateFields::new().title(words(question));
        let update = ToolCallUpdate::new(call.clone(), fields);
        let request = RequestPermissionRequest::new(table.line.session.clone(), update, options);
        let chosen = choose(table, request).await;
        let at = chosen.and_then(|id| id.strip_prefix("answer_")?.parse::<usize>().ok());
        match at.and_then(|at| question.options.get(at)) {
            Some(option) => answers.push(option.clone()),
            None => return Answers::Cancelled,
        }
    }
    Answers::Given(answers)
}

async fn by_form(table: &Table, asked: &[Asked]) -> Answers {
    let call = table.question();
    let schema = asked.iter().enumerate().fold(ElicitationSchema::new(), |schema, (at, question)| {
        schema.property(format!("answer_{at}"), field(question), true)
    });
    let scope = ElicitationSessionScope::new(table.line.session.clone()).tool_call_id(call.as_str());
    let message = match asked {
        [only] => words(only),
        _ => "Some questions".to_owned(),
    };
    let request = CreateElicitationRequest::new(ElicitationFormMode::new(scope, schema), message);
    let answered = table.line.to.send_request(request).block_task();
    let answer = tokio::select! {
        biased;
        () = table.halt.stopped() => return Answers::Cancelled,
        answer = tokio::time::timeout(PATIENCE, answered) => answer,
    };
    let Ok(Ok(answer)) = answer else { return Answers::Cancelled };
    let ElicitationAction::Accept(accepted) = answer.action else { return Answers::Cancelled };
    let content = accepted.content.unwrap_or_default();
    let given = (0..asked.len()).map(|at| content.get(&format!("answer_{at}")).map(said));
    given.collect::<Option<Vec<String>>>().map_or(Answers::Cancelled, Answers::Given)
}

fn field(question: &Asked) -> ElicitationPropertySchema {
    let options = question.options.clone();
    if question.several && !options.is_empty() {
        return MultiSelectPropertySchema::new(options).title(words(question)).into();
    }
    let field = StringPropertySchema::new().title(words(question));
    match options.is_empty() || question.free_text {
        true if options.is_empty() => field.into(),
        true => field.description(format!("for example: {}", options.join(", "))).into(),
        false => field.enum_values(options).into(),
    }
}

fn words(question: &Asked) -> String {
    match &question.header {
        Some(header) => format!("{header}: {}", question.question),
        None => question.question.clone(),
    }
}

fn said(value: &ElicitationContentValue) -> String {
    match value {
        ElicitationContentValue::String(text) => text.clone(),
        ElicitationContentValue::StringArray(several) => several.join(", "),
        other => serde_json::to_string(other).unwrap_or_default(),
    }
}
