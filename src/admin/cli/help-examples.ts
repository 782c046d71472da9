import type { CommandHelp } from './command-help.ts';

type Usage = Required<Pick<CommandHelp, 'when' | 'example'>>;

/** @param when the rest of the sentence that begins with "Use this command" */
const use = (when: string, example: string): Usage => ({ when: `Use this command ${when}`, example });

/** When to use each command, and a command line to start from. */
export const EXAMPLES: Readonly<Record<string, Usage>> = {
  serve: use(
    'to run the gateway, which applications call instead of a provider.',
    'serve --host 0.0.0.0 --policies ./policies',
  ),
  init: use('before you edit the policy of a binary or a package.', 'init ~/signalbox'),
  restart: use('after an update or a new secret, without interrupting requests.', 'restart --data ./.signalbox'),
  health: use('as a health check, for example of a container.', 'health --ready'),
  'policy check': use(
    'before you save or push a policy, and in continuous integration.',
    'policy check ./policies --strict',
  ),
  'policy test': use(
    'after every change of a policy, to see that requests still get the models that you expect.',
    'policy test ./policies --coverage --min 80',
  ),
  'policy explain': use(
    'to find out why a request gets a certain model, or none.',
    'policy explain --message "Prove that √2 is irrational." --url http://127.0.0.1:8787',
  ),
  'policy diff': use(
    'before a change goes live, to see which requests would get another model and at what cost.',
    'policy diff HEAD ./policies --requests requests.jsonl',
  ),
  'policy schema': use('to get completion and checks of policy files in your editor.', 'policy schema --write'),
  'policy push': use(
    'to change the policy of all servers that share a database at the same time.',
    'policy push ./policies --from 12',
  ),
  'policy history': use('to find an earlier revision, or who pushed a revision.', 'policy history --limit 10'),
  'policy rollback': use('to undo a push.', 'policy rollback 11'),
  'catalog sync': use('when a provider offers new models.', 'catalog sync openai --out new-models.yaml'),
  'keys create': use(
    'to give an application or a person access.',
    'keys create --name billing-app --budget 20USD/month --rpm 60 --expires-in 90d',
  ),
  'keys list': use('to find the ID of a key.', 'keys list --state valid --search billing'),
  'keys show': use('to see how much a key has left.', 'keys show k7mw2pq9x4ta'),
  'keys change': use(
    'to change what a key may do, without a new secret.',
    'keys change k7mw2pq9x4ta --budget 800/month --model gpt-6-luna',
  ),
  'keys grant': use('to sell prepaid Credits.', 'keys grant k7mw2pq9x4ta 25 --note "invoice 1042"'),
  'keys rotate': use(
    'to replace a secret regularly, or at once when it has leaked.',
    'keys rotate k7mw2pq9x4ta --overlap 12h',
  ),
  'keys suspend': use('to stop a key for a while, for example during an investigation.', 'keys suspend k7mw2pq9x4ta'),
  'keys resume': use('to end the suspension of a key.', 'keys resume k7mw2pq9x4ta'),
  'keys revoke': use('when a key is no longer needed or must never work again.', 'keys revoke k7mw2pq9x4ta'),
  'keys log': use('to see who changed a key.', 'keys log --key k7mw2pq9x4ta'),
  'ledger status': use('to see which budgets are about to run out.', 'ledger status --limit 20'),
  'ledger usage': use('to see who spent how much, and on which models.', 'ledger usage --month last --by team,model'),
  'subjects list': use('to find the ID of a workload that sends tokens.', 'subjects list --limit 20'),
  'subjects show': use(
    'to see which workload an ID stands for.',
    'subjects show subject_4f1d2c3b5a69788796a5b4c3d2e1f001',
  ),
  'subjects block': use(
    'to stop a workload, because Signalbox cannot revoke its tokens.',
    'subjects block subject_4f1d2c3b5a69788796a5b4c3d2e1f001 --note "runaway job"',
  ),
  'subjects unblock': use(
    'to let a blocked workload continue.',
    'subjects unblock subject_4f1d2c3b5a69788796a5b4c3d2e1f001',
  ),
  'logins list': use('to see who is signed in to the console.', 'logins list'),
  'logins end': use(
    'to sign a person out, for example after a laptop was lost.',
    'logins end login_5f0c2e9b7a1d4c3e8f60',
  ),
  'wallets list': use('to see which agents pay with a wallet.', 'wallets list'),
  'wallets show': use(
    'to see what a wallet has paid and has left.',
    'wallets show 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b',
  ),
  'wallets block': use(
    'to stop an agent that pays with a wallet.',
    'wallets block 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b --note abuse',
  ),
  'wallets unblock': use(
    'to let a blocked wallet pay again.',
    'wallets unblock 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b',
  ),
  'wallets credit': use(
    'to compensate the owner of a wallet.',
    'wallets credit 0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b 5 --note goodwill',
  ),
  'teams create': use(
    'to let several people or applications share a budget.',
    'teams create --name search --budget 50,000/month --member-budget 20USD/month',
  ),
  'teams list': use('to find a team.', 'teams list --origin api'),
  'teams show': use('to see how much a team has spent.', 'teams show search'),
  'teams change': use('to change the limits of a team.', 'teams change search --budget 80000/month'),
  'teams delete': use('when a team no longer exists.', 'teams delete search'),
  'users create': use(
    'to create keys for a person before the person has signed in.',
    'users create --name "Ada Lovelace" --email ada@example.com --team search --role member',
  ),
  'users list': use('to find a user.', 'users list --team search'),
  'users show': use('to see how much a user has spent.', 'users show ada@example.com'),
  'users change': use(
    'to change the role, the team or the limits of a user.',
    'users change ada@example.com --role lead',
  ),
  'users suspend': use('to keep a person out.', 'users suspend ada@example.com'),
  'users resume': use('to let a suspended person in again.', 'users resume ada@example.com'),
  'users delete': use(
    'when a person has left and asks for the deletion of personal data.',
    'users delete ada@example.com',
  ),
  'db status': use('before an upgrade, or when a server does not start.', 'db status'),
  'db accept': use('when servers refuse a database after a failover.', 'db accept'),
  'db migrate': use('during an upgrade, before you start the new servers.', 'db migrate'),
  'db copy': use(
    'to move from one server to several servers.',
    'db copy ./.signalbox/signalbox.db postgres://signalbox@db.example.com:5432/signalbox',
  ),
  'traffic show': use(
    'to see how many requests arrive, how many fail and how long they take.',
    'traffic show --step hour --by model',
  ),
  'traffic rebuild': use('when figures of traffic seem wrong.', 'traffic rebuild'),
  'trail list': use('to find out who changed a key, a policy or a user.', 'trail list --kind policy --from 2026-11-01'),
  'trail verify': use(
    'to show an auditor that the record of changes is complete.',
    'trail verify --against trail-october.jsonl',
  ),
  'trail export': use(
    'to keep a copy of the audit trail outside the database.',
    'trail export --from 2026-11 > trail.jsonl',
  ),
  'trail erase': use('when a person asks for the deletion of personal data.', 'trail erase --by alice --yes'),
  instances: use('to check that all servers run the same policy and version.', 'instances'),
  'endpoints list': use('to see which models and keys of providers cannot serve now, and why.', 'endpoints list'),
  doctor: use('when something does not work, and after you have set up a server.', 'doctor'),
  'alerts list': use('to see which alerts were sent, and whether a webhook fails.', 'alerts list --limit 5'),
  'alerts test': use('after you have set up a webhook.', 'alerts test ops'),
  'ledger export': use(
    'for invoices, and for spreadsheets.',
    'ledger export --month last --by key,model --format csv > november.csv',
  ),
  'ledger audit': use('after a crash or a failover, or regularly as a control.', 'ledger audit'),
  'ledger refund': use('when a caller paid for a bad answer.', 'ledger refund dec_0a4x1wm3zk0 2.50 --note "cut off"'),
  'ledger backup': use('regularly, and before an upgrade.', 'ledger backup backup.db'),
  'decisions list': use(
    'to find requests, for example those that failed, and the ID of their decision.',
    'decisions list --status failed --from 2026-11-20',
  ),
  'decisions show': use('when a caller reports the `x-request-id` of an answer.', 'decisions show req_0a4x1wm3zj8'),
  'guards list': use(
    'to see what guards find, for example before a guard that only counts begins to block.',
    'guards list --from 2026-11-20',
  ),
  'cache status': use(
    'to see how many requests the cache answers, and what that saves.',
    'cache status --from 2026-11-20',
  ),
  'learn status': use('to compare models by the scores of your callers.', 'learn status'),
  'learn export': use(
    'to analyse scores with your own tools.',
    'learn export --from 2026-11 --format csv > scores.csv',
  ),
  'learn reset': use(
    'when a provider has replaced a model under the same name.',
    'learn reset --model gpt-6-luna --yes',
  ),
  'plugin new': use('to start a plugin of your own.', 'plugin new strategy cheapest'),
  'plugin test': use('while you write a plugin, and in its continuous integration.', 'plugin test ./cheapest'),
  'import litellm': use('to move from a LiteLLM proxy to Signalbox.', 'import litellm config.yaml --out ./policies'),
  version: use('to report a problem.', 'version'),
};
