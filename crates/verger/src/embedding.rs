//! The embedding model of the configuration, put behind the vault's [`Embedder`]: a folder, Ollama, or a service.
//!
//! Called where a vault is opened, and by `doctor`. The vault is synchronous and the services are not, so a small runtime
//! of its own makes the requests while the caller waits; it works inside another runtime too. Nothing is opened and
//! nothing is sent before somebody searches by meaning. Deliberately not here: what the keys are called
//! ([`crate::config`]), HTTP and weights (the `llm` crate).

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use llm::embed::folder::{FolderModel, Pieces, Role, Vocabulary};
use llm::embed::ollama::Ollama;
use llm::embed::openai::OpenAi;
use llm::http::{Base, Patience};
use vault::Vault;
use vault::meaning::wordpiece::{self, WordPiece};
use vault::meaning::{EmbedError, Embedder, Pace};

use crate::config::{Config, Problem};

/// Where Ollama listens unless it is told otherwise.
const OLLAMA: &str = "http://127.0.0.1:11434";
const OPENAI: &str = "https://api.openai.com/v1";
const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// A model that has to be loaded first may take a while for its first vector.
const FIRST: Patience = Patience { tries: 1, limit: Duration::from_secs(60), pause: Duration::from_secs(1) };

/// `[embedding]` as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// `built-in`, `folder`, `ollama` or `openai`.
    pub model: Option<String>,
    /// The model's folder.
    pub folder: Option<PathBuf>,
    /// The model's name at its service.
    pub name: Option<String>,
    /// The service's address.
    pub url: Option<String>,
    /// The variable that holds the key.
    pub key_env: Option<String>,
    /// How long the vectors shall be.
    pub dimensions: Option<u32>,
    /// What goes in front of every question.
    pub query_prefix: Option<String>,
    /// What goes in front of every piece of a note.
    pub text_prefix: Option<String>,
}

/// Which model, with all that it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The table in the program.
    BuiltIn,
    /// A folder on this machine.
    Folder(PathBuf),
    /// Ollama.
    Ollama { base: Base, name: String },
    /// A service that speaks OpenAI's format.
    OpenAi { base: Base, name: String, key_env: Option<String>, dimensions: Option<u32> },
}

impl Settings {
    /// What the settings mean together; a key that means nothing there is a mistake.
    pub fn choice(&self) -> Result<Choice, Problem> {
        let model = self.model.as_deref().unwrap_or("built-in");
        let takes: &[&str] = match model {
            "built-in" => &[],
            "folder" => &["folder"],
            "ollama" => &["name", "url", "query_prefix", "text_prefix"],
            "openai" => &["name", "url", "key_env", "dimensions", "query_prefix", "text_prefix"],
            other => {
                return Err(Problem {
                    message: format!("`embedding.model` is `{other}`"),
                    hint: "it must be `built-in`, `folder`, `ollama` or `openai`".to_owned(),
                });
            }
        };
        let given = [
            ("folder", self.folder.is_some()),
            ("name", self.name.is_some()),
            ("url", self.url.is_some()),
            ("key_env", self.key_env.is_some()),
            ("dimensions", self.dimensions.is_some()),
            ("query_prefix", self.query_prefix.is_some()),
            ("text_prefix", self.text_prefix.is_some()),
        ];
        if let Some((key, _)) = given.iter().find(|(key, given)| *given && !takes.contains(key)) {
            return Err(Problem {
                message: format!("`embedding.{key}` means nothing with the model `{model}`"),
                hint: "set `embedding.model` to the model that you mean, or take the key out".to_owned(),
            });
        }
        match model {
            "folder" => Ok(Choice::Folder(self.folder.clone().ok_or_else(|| needs("folder", "folder"))?)),
            "ollama" => Ok(Choice::Ollama { base: self.base(OLLAMA)?, name: self.name("ollama")? }),
            "openai" => Ok(Choice::OpenAi {
                base: self.base(OPENAI)?,
                name: self.name("openai")?,
                key_env: self.key_env.clone().or_else(|| self.url.is_none().then(|| OPENAI_KEY.to_owned())),
                dimensions: self.dimensions,
            }),
            _ => Ok(Choice::BuiltIn),
        }
    }

    fn name(&self, model: &str) -> Result<String, Problem> {
        self.name.clone().ok_or_else(|| needs(model, "name"))
    }

    fn base(&self, default: &str) -> Result<Base, Problem> {
        Base::parse(self.url.as_deref().unwrap_or(default)).map_err(|error| Problem {
            message: format!("`embedding.url`: {error}"),
            hint: error.hint().to_owned(),
        })
    }
}

fn needs(model: &str, key: &str) -> Problem {
    Problem {
        message: format!("the embedding model `{model}` needs `embedding.{key}`"),
        hint: "`verger docs config` explains every key".to_owned(),
    }
}

impl Choice {
    /// Where texts go, for people.
    pub fn whereto(&self) -> String {
        match self {
            Choice::BuiltIn | Choice::Folder(_) => "nothing leaves this machine".to_owned(),
            Choice::Ollama { base, .. } | Choice::OpenAi { base, .. } if base.is_local() => {
                format!("texts go to {} on this machine", base.host())
            }
            Choice::Ollama { base, .. } | Choice::OpenAi { base, .. } => {
                format!("the text of your notes is sent to {}", base.host())
            }
        }
    }
}

/// How much of the machine a model in a folder may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// All cores: somebody waits.
    All,
    /// Half of them: somebody works beside it.
    Half,
}

/// Tells a vault which model to use. The model is opened when it is first needed.
pub fn attach(vault: &Vault, config: &Config, effort: Effort) -> Result<(), vault::Error> {
    // What does not make sense was refused when the configuration was read.
    let Ok(choice) = config.embedding.choice() else { return Ok(()) };
    if choice == Choice::BuiltIn {
        return Ok(());
    }
    let settings = config.embedding.clone();
    vault.finder()?.use_embedder(Box::new(move || open(&choice, &settings, effort)), config.limits.clone());
    Ok(())
}

/// Opens a model; a service is asked for one vector, to learn its width and whether it answers.
pub fn open(choice: &Choice, settings: &Settings, effort: Effort) -> Result<Arc<dyn Embedder>, EmbedError> {
    let prefixes = Prefixes {
        query: settings.query_prefix.clone().unwrap_or_default(),
        text: settings.text_prefix.clone().unwrap_or_default(),
    };
    match choice {
        Choice::BuiltIn => Ok(vault::meaning::table::Table::built_in()?),
        Choice::Folder(folder) => {
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let threads = if effort == Effort::All { cores } else { cores.div_ceil(2) };
            let folder = crate::place::expand(folder);
            Ok(Arc::new(Near(FolderModel::open(&folder, &word_pieces, threads).map_err(said)?)))
        }
        Choice::Ollama { base, name } => {
            let client = Client::Ollama(Ollama::new(base.clone(), name).map_err(said)?);
            Ok(Arc::new(Far::open(client, format!("ollama:{}:{name}", base.host()), prefixes)?))
        }
        Choice::OpenAi { base, name, key_env, dimensions } => {
            let key = key_env.as_deref().map(key).transpose()?;
            let client = OpenAi::new(base.clone(), name, key, *dimensions).map_err(said)?;
            Ok(Arc::new(Far::open(
                Client::OpenAi(client),
                format!("openai:{}:{name}", base.host()),
                prefixes,
            )?))
        }
    }
}

fn key(variable: &str) -> Result<llm::Secret, EmbedError> {
    let key = std::env::var(variable).map(|text| llm::Secret::new(&text)).ok();
    let missing =
        || EmbedError::Model(format!("the variable {variable}, which should hold the key, is not set"));
    key.filter(|key| !key.is_empty()).ok_or_else(missing)
}

/// The vault's own splitter, for models in a folder.
fn word_pieces(vocabulary: &Vocabulary) -> Option<Box<dyn Pieces>> {
    struct Split(WordPiece);
    impl Pieces for Split {
        fn split(&self, text: &str, pieces: &mut Vec<u32>) {
            self.0.split(text, pieces);
        }
    }
    let case = match vocabulary.case {
        llm::embed::folder::Case::Folded => wordpiece::Case::Folded,
        llm::embed::folder::Case::Kept => wordpiece::Case::Kept,
    };
    Some(Box::new(Split(WordPiece::new(vocabulary.pieces.iter().map(String::as_str), case)?)))
}

/// The vault's reasons for the model's.
fn said(error: llm::Error) -> EmbedError {
    let text = format!("{error}; {}", error.hint());
    match error {
        llm::Error::RateLimit { wait, .. } => EmbedError::Later { why: text, seconds: wait.as_secs().max(1) },
        llm::Error::Overloaded { .. } | llm::Error::Network { .. } | llm::Error::Slow { .. } => {
            EmbedError::Unavailable(text)
        }
        llm::Error::BadRequest { .. } => EmbedError::Text(text),
        _ => EmbedError::Model(text),
    }
}

/// A model in a folder.
struct Near(FolderModel);

impl Embedder for Near {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn dimensions(&self) -> usize {
        self.0.dimensions()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(self.0.embed(texts, Role::Document))
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(self.0.embed(&[text], Role::Query).pop().unwrap_or_default())
    }

    fn pace(&self) -> Pace {
        if self.0.is_quick() { Pace::Quick } else { Pace::Slow }
    }
}

#[derive(Clone)]
enum Client {
    Ollama(Ollama),
    OpenAi(OpenAi),
}

impl Client {
    async fn embed(&self, texts: &[String], patience: Patience) -> Result<Vec<Vec<f32>>, llm::Error> {
        match self {
            Client::Ollama(model) => model.embed(texts, patience).await,
            Client::OpenAi(model) => model.embed(texts, patience).await,
        }
    }

    async fn mark(&self) -> Option<String> {
        match self {
            Client::Ollama(model) => model.digest(Patience::SHORT).await,
            Client::OpenAi(_) => None,
        }
    }
}

struct Prefixes {
    query: String,
    text: String,
}

/// A model behind a service.
struct Far {
    name: String,
    width: usize,
    client: Client,
    prefixes: Prefixes,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Far {
    fn open(client: Client, name: String, prefixes: Prefixes) -> Result<Far, EmbedError> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime =
            runtime.map_err(|error| EmbedError::Unavailable(format!("no thread for it: {error}")))?;
        let mut far = Far { name, width: 0, client, prefixes, runtime: Some(runtime) };
        far.width = far.ask(vec!["verger".to_owned()], FIRST).map_err(probed)?.first().map_or(0, Vec::len);
        let client = far.client.clone();
        let mark = far.wait(async move { client.mark().await })?.unwrap_or_default();
        far.name = format!("{}:{}:{mark}", far.name, far.width);
        if !far.prefixes.query.is_empty() || !far.prefixes.text.is_empty() {
            far.name += &format!(":{:?}:{:?}", far.prefixes.query, far.prefixes.text);
        }
        Ok(far)
    }

    fn ask(&self, texts: Vec<String>, patience: Patience) -> Result<Vec<Vec<f32>>, EmbedError> {
        let client = self.client.clone();
        self.wait(async move { client.embed(&texts, patience).await })?.map_err(said)
    }

    /// Lets the runtime do it and waits; the caller may be inside another runtime, so it cannot simply block on it.
    fn wait<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, EmbedError> {
        let gone = || EmbedError::Unavailable("the requests came to an end".to_owned());
        let (done, result) = mpsc::sync_channel(1);
        let runtime = self.runtime.as_ref().ok_or_else(gone)?;
        runtime.spawn(async move { done.send(work.await).ok() });
        result.recv().map_err(|_| gone())
    }
}

/// A service that refuses one plain word is not set up right.
fn probed(error: EmbedError) -> EmbedError {
    match error {
        EmbedError::Text(why) => EmbedError::Model(why),
        other => other,
    }
}

impl Embedder for Far {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.width
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts = texts.iter().map(|text| format!("{}{text}", self.prefixes.text)).collect();
        self.ask(texts, Patience::LONG)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let vectors = self.ask(vec![format!("{}{text}", self.prefixes.query)], Patience::SHORT)?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    fn pace(&self) -> Pace {
        Pace::Slow
    }

    fn batch(&self) -> usize {
        match self.client {
            Client::Ollama(_) => 16,
            Client::OpenAi(_) => 64,
        }
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        // Waiting for requests here could happen inside another runtime, which panics.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(toml: &str, message: &str) {
        let problem = Config::parse(toml).unwrap().embedding.choice().unwrap_err();
        assert!(problem.message.contains(message), "{problem:?}");
    }

    #[test]
    fn a_model_that_is_not_described_in_full_is_refused() {
        check("[embedding]\nmodel = 'gpt'", "`embedding.model` is `gpt`");
        check("[embedding]\nmodel = 'folder'", "needs `embedding.folder`");
        check("[embedding]\nmodel = 'ollama'", "needs `embedding.name`");
        check("[embedding]\nname = 'm'", "`embedding.name` means nothing with the model `built-in`");
        check(
            "[embedding]\nmodel = 'ollama'\nname = 'm'\nkey_env = 'K'",
            "`embedding.key_env` means nothing",
        );
        check("[embedding]\nmodel = 'openai'\nname = 'm'\nurl = 'http://10.0.0.1/v1'", "without TLS");
    }

    #[test]
    fn a_choice_says_where_texts_go() {
        let whereto = |toml: &str| Config::parse(toml).unwrap().embedding.choice().unwrap().whereto();
        assert_eq!(whereto(""), "nothing leaves this machine");
        assert_eq!(whereto("[embedding]\nmodel = 'folder'\nfolder = '/m'"), "nothing leaves this machine");
        assert_eq!(
            whereto("[embedding]\nmodel = 'ollama'\nname = 'm'"),
            "texts go to 127.0.0.1:11434 on this machine"
        );
        assert_eq!(
            whereto("[embedding]\nmodel = 'openai'\nname = 'm'"),
            "the text of your notes is sent to api.openai.com"
        );
    }

    /// By hand, with a model and reference vectors: `fixtures/embed/reference_vectors.py` says how.
    #[test]
    fn a_real_model_gives_the_vectors_of_its_makers() {
        let (Ok(folder), Ok(file)) = (std::env::var("VERGER_MODEL_FOLDER"), std::env::var("VERGER_VECTORS"))
        else {
            println!("skipped: VERGER_MODEL_FOLDER and VERGER_VECTORS are not set");
            return;
        };
        let reference: Vec<(String, Vec<f32>)> =
            serde_json::from_str(&crate::place::read_named(file.as_ref()).unwrap()).unwrap();
        let model = open(&Choice::Folder(folder.into()), &Settings::default(), Effort::All).unwrap();
        for (text, expected) in reference {
            let vector = model.embed(&[&text]).unwrap().remove(0);
            let cosine: f32 = vector.iter().zip(&expected).map(|(a, b)| a * b).sum();
            println!("{cosine:.6} {:.40}", text);
            assert!(cosine > 0.999, "{text}");
        }
    }

    #[test]
    fn the_usual_key_goes_to_the_usual_service_only() {
        let key_env = |toml: &str| match Config::parse(toml).unwrap().embedding.choice().unwrap() {
            Choice::OpenAi { key_env, .. } => key_env,
            other => panic!("{other:?}"),
        };
        assert_eq!(key_env("[embedding]\nmodel = 'openai'\nname = 'm'").as_deref(), Some(OPENAI_KEY));
        assert_eq!(key_env("[embedding]\nmodel = 'openai'\nname = 'm'\nurl = 'https://e.org'"), None);
        let missing = key("VERGER_TEST_NO_SUCH_VARIABLE").unwrap_err();
        assert!(missing.to_string().contains("VERGER_TEST_NO_SUCH_VARIABLE"));
    }
}
