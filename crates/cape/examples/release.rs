//! Releases a prompt with its privacy statement, and puts names back into the answer.
//!
//! ```text
//! cargo run -p cape --example release
//! ```

use cape::{Cape, Lexicon, Restorer, Sanitizer, Secret, Settings, Wanted};

fn main() -> cape::Result<()> {
    let prompt = "My daughter Alice has asthma. What should I ask Dr Weber?";
    let sanitizer = Sanitizer::words(Cape::new(Lexicon::embedded(), Settings::default())?);
    // keep the secret for as long as the same word shall become the same
    let release = sanitizer.release(prompt, &Secret::fresh()?)?;
    println!("you write      {prompt}");
    println!("what leaves    {}", release.text);

    let (privacy, holds) = (&release.privacy, release.privacy.holds());
    let [protected, any] = [holds.protected, holds.bound];
    println!("privacy        ε = {protected:.2} between protected words, {any:.2} between any two");
    let (words, protected) = (privacy.words, privacy.protected);
    println!("               {words} words, {protected} of them protected (for you alone to know)");
    println!("               ε = {:.2} for the whole prompt", privacy.epsilon_prompt());

    // stands for the answer of a service, which has seen the release alone
    let answer = format!("{} should avoid smoke and dust.", release.words[2].released);
    let mut restorer = Restorer::default();
    if let Some(cape) = sanitizer.cape() {
        restorer.learn(cape, prompt, &release.text, &Wanted::DEFAULT);
    }
    println!("the answer     {answer}");
    println!("what you read  {}", restorer.restore(&answer).0);
    Ok(())
}
