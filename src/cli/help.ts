/** Returns the help of the command that the words begin with, as in `policy test DIR`; else of all commands. */
export function helpOf(words: readonly string[]): string {
  const [title = '', ...entries] = HELP.split(/^(?= {2}signalbox )/m);
  for (let length = words.length; length > 0; length--) {
    const named = entries.filter((entry) => startsWith(entry.trim().split(/\s+/).slice(1), words.slice(0, length)));
    if (named.length > 0) return `${title}${named.join('')}`;
  }
  return HELP;
}

const startsWith = (usage: readonly string[], words: readonly string[]): boolean =>
  words.every((word, at) => usage[at] === word);

const HELP = `signalbox: a self-hosted LLM gateway and policy engine

  signalbox serve [--port 8787] [--host 127.0.0.1] [--data ./.signalbox] [--policies DIR] [--drain-ms 25000]
                  [--metrics on|off] [--log auto|json|pretty|off]
      Serves the API. The environment works too: PORT, HOST, SIGNALBOX_DATA, SIGNALBOX_POLICIES,
      SIGNALBOX_METRICS, SIGNALBOX_LOG, and SIGNALBOX_API_KEY, a key to install at start with all scopes.
      The log is pretty on a terminal and JSON elsewhere; with off, warnings and errors are all of it.
      On SIGTERM it takes no new requests and gives those under way --drain-ms to finish.
      A change of the policy is in force within a second; SIGHUP has it looked at now.
  signalbox health [--url http://127.0.0.1:8787] [--ready] [--json]
      Asks a running server whether it is alive: /healthz, or with --ready /readyz, of the --url or of the PORT here. Ends
      with 0 when it says so within 3 s, else with 1. For containers, which need no curl then.
  signalbox policy check [DIR] [--all] [--json] [--strict] [--data DIR]
      Tells all that is wrong with the policy in DIR (or --policies DIR). It needs no provider's key. Ends with 0
      when it may serve, 2 when not (with --strict: warnings too), 1 when there was nothing to judge. Where there
      is a ledger in --data, the policy must fit to it. Many warnings of one kind about prices and qualities are a line
      for each file, and many providers that are left out their names; --all and --strict tell each.
  signalbox policy test [DIR] [--case TEXT] [--watch] [--coverage] [--min PERCENT] [--here] [--json] [--data DIR]
      Runs the cases of the policy, those with TEXT in their names: as if every variable were set, and with those that
      are set here; with --here in the second way alone. Tells of each that fails what was expected, what came, and why.
      With --watch again after every edit; with --coverage also what no case touches. Ends with 0 when all that ran
      hold, 2 when one fails, the policy is wrong or less than --min is covered, 1 when it could not run.
  signalbox policy explain [DIR] [REQUEST.json | -] [--model auto] [--task T] [--message TEXT] [--input-tokens N]
                           [--output-tokens N] [--cost-weight N] [--quality-weight N] [--label K=V]...
                           [--metadata K=V]... [--key ID] [--key-models ID,ID] [--time 2026-11-20T08:00:00Z] [--json]
      Tells which model a request would get, and why: every model with its estimates and utility, or what is against
      it, with the rule and its place. REQUEST.json is a body of a chat or of /v1/route; flags go before it. Ends with
      0 for a decision, 2 for a refusal, 1 when there was nothing to decide.
  signalbox policy explain --case NAME [DIR] [--here] [--json] [--data DIR]
      The same of a case's request, as it is decided when the case runs. Of the name, a part that no other has is enough.
  signalbox policy explain --decision ID [DIR] [--json] [--data DIR]
      The same of a decision that was made, decided again from its record, with its attempts and receipt. DIR is where
      the policy's own plugins are. Ends with 0 when it comes to the same, 2 when not or when it cannot be done again.
  signalbox policy diff A [B] [--requests FILE.jsonl | -] [--json] [--strict] [--data DIR]
      Tells what two policies declare differently, and for their cases and a file of requests what would be chosen
      differently at which cost. Each is a folder, a revision kept in --data, or a commit: HEAD~1, main:path/to/folder;
      without B it is the policy folder. Plugins of a commit run. Ends with 0 when nothing that held fails, 2 when a
      case does or B cannot be loaded (with --strict: when anything is chosen differently), 1 when it could not run.
  signalbox policy fmt [DIR | FILE... | -] [--check] [--json]
      Formats YAML files in place as editors with the YAML language server do, in lines of 120 columns; comments and
      figures stay as they are. With --check it changes nothing and shows what would change; - is standard input to
      output. Ends with 0 when all is well, 2 when --check found something or a file was left as it is, 1 when it
      could not run.
  signalbox policy schema [DIR] [--write]
      Prints a JSON Schema of the policy language for editors, with what the plugins of the policy in DIR take and its
      names as completions; with --write it goes to DIR/policy.schema.json. The policy may be wrong. Runs its plugins.
      Ends with 0, or 1 when there is none: no folder, or a plugin that cannot be loaded.
  signalbox plugin new strategy|provider|estimator NAME [--dir DIR]
      Makes a small package with a plugin that works, its test and what editors need, in a folder NAME of DIR or of
      this one. Nothing is written over.
  signalbox plugin test FILE [--seed N] [--runs 200] [--json]
      Tries every plugin of a file, a folder or a package on the laws that the gateway relies on, and a provider on the
      answers recorded in samples/ beside it; shows the smallest case that breaks one, and the seed. Ends with 0 when
      all hold, 2 when one is broken, 1 when it cannot be loaded.
  signalbox import litellm FILE|- [--out DIR] [--prices FILE] [--json] [--force]
      Makes a policy folder (./policies-from-litellm unless --out says) of a LiteLLM proxy configuration, and tells what
      became of every key. --prices is LiteLLM's model_prices_and_context_window.json. No key is copied. Ends with 0,
      with 2 where the configuration has mistakes (the rest is imported), 1 when there was nothing to import.
  signalbox learn status [--json]
      What outcomes have taught: how many there are, of whom, and for each model and task what is declared and learnt.
  signalbox learn replay [--json] [--write]
      Learns anew from all outcomes that are kept, judging each before it is learnt: tells whether mode on would help.
      With --write, and no server running, it is what is remembered from then on.
  signalbox learn export [--from T] [--to T] [--time-zone UTC] [--key ID] [--model ID] [--source caller|checks|retry]
                         [--format jsonl|csv]
      Writes every outcome; T is as of ledger export.
  signalbox learn reset [--model ID] --yes
      Has all forgotten that was learnt, or what was learnt of a model. A running server follows within a second.
      All four take --data and --policies, as serve does.
  signalbox keys create [--name NAME] [--scope chat,route,admin] [--label K=V]... [--model ID]... [--expires-in 30d]
                        [--rpm N] [--tpm N] [--streams N] [--wallet 0x...]... [--json]
                        [--budget CREDITS/WINDOW[@ZONE][:downgrade]]...
      Makes an API key and prints it, this once. It may be limited to so many requests and tokens a minute and
      streams at once, and by budgets: 500/month, 20/day@Europe/Berlin, 500/total:downgrade. A window is day, week,
      month or total, in UTC unless a zone is named; with :downgrade cheaper models are taken before it says 402.
      With --wallet its requests may name these wallets alone as agent_wallet.
  signalbox keys list [--json]
  signalbox keys show ID [--json]
      All that is known of a key: state, last use, limits, budgets with what is spent and when they renew, balance.
  signalbox keys grant ID CREDITS [--note TEXT]
      Adds to what a key may spend (-5 takes back). From its first grant on a key is prepaid: 402 once it is used up.
  signalbox keys rotate ID [--overlap 24h] [--json]
      Gives a key another secret and prints it, this once; spend, budgets and balance go on. The old secret works as
      long as --overlap says, 30d at most; with 0, and when it is rotated again, it ends at once.
  signalbox keys revoke ID
  signalbox keys log [--key ID] [--limit 100] [--json]
      Who did what to which key, newest first, by command and by /admin/keys.
      All of these take --data, as serve does; a running server follows within a second.
  signalbox decisions list [--from T] [--to T] [--key ID] [--model ID] [--task T] [--status S] [--operation chat]
                           [--label K=V]... [--after ID] [--limit 50] [--json] [--data DIR]
      Lists the records of decisions that match all filters, newest first. T is 2026-11-20 or 2026-11-20T08:00Z, and S
      completed, failed, broken, abandoned or recommended. GET /admin/decisions answers the same.
  signalbox wallets list [--json]
  signalbox wallets show ADDRESS [--json]
      What agents have paid in and spent; of one wallet its keys and its last payments, too.
  signalbox wallets credit ADDRESS CREDITS [--note TEXT]
      Adds to the balance of a wallet (-5 takes back). A wallet is shut out by POST /admin/wallets/{address}/block.
      All three take --data, as serve does.
  signalbox ledger audit [--json] [--idle]
      Proves from the journal that no budget was overspent and every sum is right, beside a running server or
      without one. Ends with 2 when something is wrong; with --idle an open reservation is wrong, too.
  signalbox ledger usage [--from DAY] [--to DAY] [--time-zone UTC] [--key ID] [--label K=V]... [--model ID]
                         [--by day,model] [--json]
      Sums up what was charged, by the groupings of ledger export: the last 30 days unless they are named; --to is
      exclusive. GET /admin/usage answers the same.
  signalbox ledger export [--from T] [--to T] [--time-zone UTC] [--key ID] [--label K=V]... [--model ID]
                          [--by day,month,key,label:team,model,provider,selector] [--format csv|json]
      Writes every charge, or sums of them. T is 2026-11, 2026-11-20 or 2026-11-20T08:00Z; --to is exclusive, and
      --from 2026-11 alone is that month.
  signalbox ledger backup FILE
      Copies the database while it is used, and audits the copy.
  signalbox ledger refund DECISION [CREDITS] [--note TEXT]
      Gives back what a request was charged, or a part of it.
      All five take --data, as serve does.
  signalbox version
`;
