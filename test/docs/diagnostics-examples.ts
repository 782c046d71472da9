import type { DiagnosticCode } from '../../src/policy/report/diagnostics.ts';
import type { Example } from './diagnostics-example.ts';
import { FILE_EXAMPLES } from './diagnostics-examples-files.ts';
import { RULE_EXAMPLES } from './diagnostics-examples-of-rules.ts';

const extra = '    max_output: 2048\n';

/** Maps each code to its example, grouped as in docs/policies/diagnostics.md. */
export const EXAMPLES: Readonly<Record<string, Partial<Record<DiagnosticCode, Example>>>> = {
  'Files and YAML': FILE_EXAMPLES,
  'Keys and values': {
    'wrong-type': {
      golden: 'type-quoted-number',
      mend: 'Check the quotes first: `0.5` is a number, `"0.5"` is a text.',
      correction: ['"0.5"', '0.5'],
    },
    'out-of-range': {
      golden: 'output-exceeds-context',
      mend: 'Use a value within the bounds in the message.',
      correction: ['max_output: 9000', 'max_output: 8192'],
    },
    'not-one-of': {
      golden: 'word-misspelt',
      mend: 'Use one of the words in the message.',
      correction: ['serve: alone', 'serve: when_alone'],
    },
    'bad-form': {
      golden: 'price-day-wrong',
      mend: 'Use the form in the message.',
      correction: ['2026-13-01', '2026-12-01'],
    },
    'bad-name': {
      golden: 'name-with-a-blank',
      mend: 'Use letters, digits and `. _ : / @ + -`; begin with a letter or digit.',
      correction: ['my model', 'my-model'],
    },
    'missing-key': {
      golden: 'price-missing',
      mend: 'Add the key.',
      correction: [extra, `${extra}    price: { input: 1, output: 2 }\n`],
    },
    'unknown-key': {
      golden: 'section-misspelt',
      mend: 'Correct the spelling or the indentation of the key.',
      correction: ['constrains', 'constraints'],
    },
    'conflicting-keys': {
      golden: 'model-both-forms',
      mend: 'Remove one of them.',
      correction: ['    endpoints: [{ provider: sim }]\n', ''],
    },
    'duplicate-name': {
      golden: 'duplicate-model-in-two-files',
      mend: 'Rename or remove one of the two.',
      correction: ['  tiny:', '  tiny-of-mine:'],
    },
    'bad-fallback': {
      golden: 'fallback-of-itself',
      mend: 'Name other models, each once. A selector cannot be a fallback.',
      correction: ['[tiny, extra]', '[tiny, large]'],
    },
    'bad-tier': {
      golden: 'tier-twice',
      mend: 'Name models that the selector may choose, each once in a tier.',
      correction: ['tiny, tiny', 'tiny'],
    },
    'unknown-reference': {
      golden: 'provider-misspelt',
      mend: 'Correct the spelling, or define the name.',
      correction: ['sin', 'sim'],
    },
  },
  'What a policy must have': {
    'no-models': {
      golden: 'models-missing',
      mend: '[Add a model](guide.md#add-a-model), or start Signalbox with the right policy folder.',
    },
    'nothing-to-serve': { golden: 'variable-missing', mend: 'Set one of the environment variables in the hint.' },
    'bad-environment': {
      golden: 'variable-holds-no-address',
      mend: 'Correct the value, such as `LAN_URL=http://10.0.0.1:8080`.',
    },
  },
  'Secrets, addresses, prices': {
    secret: {
      golden: 'secret-in-place-of-a-variable',
      mend: "Put the secret into an environment variable, and write the variable's name.",
      correction: ['sk-proj-Abc123Def456Ghi789', 'MORE_API_KEY'],
    },
    'forbidden-address': {
      golden: 'address-of-metadata',
      mend: "Use the provider's address.",
      correction: ['http://169.254.169.254/latest', 'http://10.0.0.5:8000/v1'],
    },
    'token-host': {
      golden: 'token-for-another-host',
      mend: 'Use an address at one of the hosts. [Credentials of clouds](../operate/credentials.md) explains the credentials file, which only an operator of the server can change.',
      correction: ['bedrock.example.net', 'bedrock-runtime.eu-central-1.amazonaws.com'],
    },
    'price-per-token': {
      golden: 'price-per-token',
      mend: 'State USD per 1M tokens: `2.5`, not `0.0000025`.',
      correction: ['input: 0.0000025, output: 0.00001', 'input: 2.5, output: 10'],
    },
    'price-not-exact': {
      golden: 'price-too-exact',
      mend: 'Round the price to fewer digits.',
      correction: ['0.10000000000000000001', '0.1'],
    },
    'after-abort-idle': {
      golden: 'after-abort-idle',
      mend: 'Remove the key.',
      correction: [', margin_tokens: 3', ''],
    },
    'spread-idle': {
      golden: 'spread-idle',
      mend: 'Remove the key, or choose a `spread` that reads it.',
      correction: ['spread: fastest', 'spread: weighted'],
    },
    'webhook-unset': {
      golden: 'webhook-unset',
      mend: 'Set the variable, or name a file with its value in `NAME_FILE`.',
    },
    'private-host': {
      golden: 'private-host',
      mend: 'Add `allow_private_network: true` to the provider, `service` or webhook in the hint.',
      correction: ['gpu-box:8000/v1"', 'gpu-box:8000/v1", allow_private_network: true'],
    },
    'idle-fallback': {
      golden: 'fallback-idle',
      mend: 'Name a model that can replace the first one, or give it what it lacks.',
      correction: ['{ context: [tiny], error: [plain] }', '{ error: [tiny] }'],
    },
    'uncounted-images': {
      golden: 'images-under-a-budget',
      mend: 'State `image_tokens_max`: the most input tokens that the provider counts for one image, according to its documentation of image inputs.',
      correction: ['    capabilities: [vision]\n', '    capabilities: [vision]\n    image_tokens_max: 1600\n'],
    },
    'address-without-path': {
      golden: 'address-without-path',
      mend: 'Add the path. If the service has none, end the address with a slash.',
      correction: ['http://127.0.0.1:8000"', 'http://127.0.0.1:8000/v1"'],
    },
    'short-key': { golden: 'key-too-short', mend: 'Use a longer key, or no key if the server needs none.' },
    'free-model': {
      golden: 'price-zero-with-key',
      mend: 'State the real price.',
      correction: ['price: { input: 0, output: 0 }', 'price: { input: 0.25, output: 2 }'],
    },
    'found-price': {
      golden: 'found-without-price',
      mend: 'State a price for the other models of the server: see [What found models cost](own-servers.md#what-found-models-cost).',
    },
    'passthrough-all': {
      golden: 'passthrough-all',
      mend: 'List the fields that you need.',
      correction: ['["*"]', '[verbosity]'],
    },
    'unknown-language': { golden: 'language-misspelt', mend: 'Correct the spelling.', correction: ['pythn', 'python'] },
    'left-out-rate': {
      golden: 'price-rate-left-out',
      mend: 'State the rate in this part of the price, too.',
      correction: ['flex: { input: 0.5, output: 1 }', 'flex: { input: 0.5, cached_input: 0.05, output: 1 }'],
    },
    'ended-price': {
      golden: 'price-ended',
      mend: 'Write the price that applies now in its place, with what follows it.',
      correction: ['input: 1, output: 2, until: 2026-11-20, later: [{ input: 2, output: 4 }]', 'input: 2, output: 4'],
    },
    'stale-figure': {
      golden: 'figures-stale',
      mend: 'Check the figure at its source, and update `as_of`.',
      correction: ['as_of: 2026-01-05', 'as_of: 2026-11-20'],
    },
    'unverified-figure': {
      golden: 'figures-unverified',
      mend: 'Add `as_of` and `basis`.',
      correction: ['output: 2 }', 'output: 2, as_of: 2026-11-20, basis: vendor-list }'],
    },
  },
  Plugins: {
    'plugin-not-loaded': {
      golden: 'plugin-not-there',
      mend: 'Check the path, which is relative to the policy folder, or install the package where the policy folder can find it.',
    },
    'plugin-outside': { golden: 'plugin-outside', mend: 'Move the code into the folder, or install it as a package.' },
    'plugin-failed': {
      golden: 'selector-refused-by-plugin',
      mend: 'Use options that the plugin accepts. The message comes from the plugin.',
    },
  },
  ...RULE_EXAMPLES,
  'Budgets and limits': {
    'shared-window': {
      golden: 'budget-each-without-match',
      mend: 'Add `match: key.labels.team != ""`.',
      correction: ['    each: key.labels.team\n', '    each: key.labels.team\n    match: key.labels.team != ""\n'],
    },
    'small-budget': {
      golden: 'budget-in-usd',
      mend: 'If you mean USD, write `limit_usd`: 1 USD is 1000 Credits by default. If the small limit is intended, ignore the warning.',
      correction: ['limit_credits: 0.5,', 'limit_credits: 500,'],
    },
    'nothing-to-spend': {
      golden: 'budget-limit-zero',
      mend: 'Raise the limit. To refuse requests, use a constraint.',
      correction: ['limit_credits: 0', 'limit_credits: 100'],
    },
    'ambiguous-name': {
      golden: 'budget-named-balance',
      mend: 'Rename the budget.',
      correction: ['name: balance', 'name: interns'],
    },
    'budget-renamed': {
      golden: 'budget-renamed',
      mend: 'Restore the old name, unless you want a new budget.',
      correction: ['name: team-monthly', 'name: team-month'],
    },
    'credits-changed': {
      golden: 'credits-changed',
      mend: 'Restore `usd_per_credit`, or start with a new data folder.',
      correction: ['0.01', '0.001'],
    },
    'team-exists': {
      golden: 'team-exists',
      mend: 'Give the declared team another name, or let the policy manage the existing team: `teams change NAME --origin policy`.',
      correction: ['name: search', 'name: search-policy'],
    },
    'no-such-team': {
      golden: 'team-renamed',
      mend: 'Write the current name of the team.',
      correction: ['"search"', '"find"'],
    },
    'team-replaced': {
      golden: 'team-replaced',
      mend: 'Add `formerly` with the old name to the new team if it is the same team.',
      correction: ['- name: finance', '- name: finance\n    formerly: billing'],
    },
    'two-meanings-of-team': {
      golden: 'two-meanings-of-team',
      mend: 'Use only teams, or give the label another name.',
      correction: ['each: key.labels.team, match: key.labels.team != ""', 'each: team, match: team.id != ""'],
    },
    'needs-restart': {
      golden: 'gateway-socket-restart',
      mend: 'Restart the server.',
      correction: ['2097152', '1048576'],
    },
    'trusts-everybody': {
      golden: 'gateway-proxies-wrong',
      mend: 'List the ranges of your proxies.',
      correction: ['0.0.0.0/0', '10.0.0.0/8'],
    },
  },
  'Agents that pay': {
    'mainnet-not-allowed': {
      golden: 'payments-mainnet-not-allowed',
      mend: 'Add `allow_mainnet: true` to accept real money.',
      correction: ['    enabled: true\n', '    enabled: true\n    allow_mainnet: true\n'],
    },
    'token-differs': {
      golden: 'payments-token-differs',
      mend: 'Use the expected value.',
      correction: ['name: USDC }', 'name: USD Coin }'],
    },
    'pays-nobody': {
      golden: 'payments-to-nobody',
      mend: 'Use an address whose private key you hold.',
      correction: [
        'pay_to: "0x0000000000000000000000000000000000000000"',
        'pay_to: "0x52908400098527886E0F7030069857D2E4169EE7"',
      ],
    },
    'facilitator-without-token': {
      golden: 'payments-facilitator-without-token',
      mend: 'Name the environment variable with its token in `bearer_env`.',
      correction: [
        'url: "https://x402.example" }',
        'url: "https://x402.example", bearer_env: X402_FACILITATOR_TOKEN }',
      ],
    },
  },
  'Sign-in': {
    'nobody-signs-in': {
      golden: 'sign-in-secret-unset',
      mend: 'Set the variable, or name a file with its value in `NAME_FILE`.',
    },
  },
  Tokens: {
    'claim-is-object': {
      golden: 'claim-is-object',
      mend: 'Search in the list inside the [object](../operate/tokens.md#claims-that-are-objects). If the claim can be a list as well, test it first: `type(claims.teams) == list && "platform" in claims.teams`.',
      correction: ['"agents" in claims.realm_access', '"agents" in claims.realm_access.roles'],
    },
    'open-issuer': {
      golden: 'tokens-open',
      mend: 'Compare a claim that only [your own workloads](../operate/tokens.md) have.',
      correction: ['"true"', 'claims.repository_owner == "acme"'],
    },
  },
  Cases: {
    'case-failed': {
      golden: 'case-failed',
      mend: 'Correct the rule or the case; `policy test` shows [both sides](testing.md#run-the-cases).',
    },
  },
};
