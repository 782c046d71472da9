import type { DiagnosticCode } from '../../src/policy/diagnostics.ts';

/** A policy of `test/policy/golden/` in which a code is said, and how it is mended. */
export interface Example {
  readonly golden: string;
  /** What stands there, and what is right in its place; or what to do where the policy is not what is wrong. */
  readonly mended: readonly [from: string, to: string] | string;
  /** What the example takes for granted, as a sentence. */
  readonly where?: string;
}

const LOOP = (name: string) => `[1, 2, 3, 4, 5, 6].all(${name}, `;
const extra = '    max_output: 2048\n';

/** Code → its example, grouped as docs/policies/diagnostics.md has them. */
export const EXAMPLES: Readonly<Record<string, Partial<Record<DiagnosticCode, Example>>>> = {
  'Files and YAML': {
    'file-too-large': { golden: 'file-too-large', mended: 'Split it into several files.' },
    'unreadable-file': {
      golden: 'file-unreadable',
      mended: 'Let the user that Signalbox runs as read it, by `chmod` or `chown`.',
    },
    'not-utf-8': { golden: 'file-not-utf-8', mended: 'Save it as UTF-8.' },
    'symlink-loop': { golden: 'file-symlink-loop', mended: 'Let the link lead to a file, or remove it.' },
    'yaml-syntax': { golden: 'yaml-tab-indent', mended: ['\ttools_max', '  tools_max'] },
    'yaml-feature': { golden: 'yaml-merge-key', mended: ['  <<: { tools_max: 1 }', '  tools_max: 1'] },
  },
  'Keys and values': {
    'wrong-type': { golden: 'type-quoted-number', mended: ['"20"', '20'] },
    'out-of-range': { golden: 'output-exceeds-context', mended: ['max_output: 9000', 'max_output: 8192'] },
    'not-one-of': { golden: 'word-misspelt', mended: ['serve: alone', 'serve: when_alone'] },
    'bad-form': { golden: 'price-day-wrong', mended: ['2026-13-01', '2026-12-01'] },
    'bad-name': { golden: 'name-with-a-blank', mended: ['my model', 'my-model'] },
    'missing-key': { golden: 'price-missing', mended: [extra, `${extra}    price: { input: 1, output: 2 }\n`] },
    'unknown-key': { golden: 'section-misspelt', mended: ['constrains', 'constraints'] },
    'conflicting-keys': { golden: 'model-both-forms', mended: ['    endpoints: [{ provider: sim }]\n', ''] },
    'duplicate-name': { golden: 'duplicate-model-in-two-files', mended: ['  tiny:', '  tiny-of-mine:'] },
    'unknown-reference': { golden: 'provider-misspelt', mended: ['sin', 'sim'] },
  },
  'What a policy must have': {
    'no-version': { golden: 'version-missing', mended: ['providers:', 'version: 1\nproviders:'] },
    'no-models': {
      golden: 'models-missing',
      mended: 'Add a model and its provider ([add a model](guide.md#add-a-model)), or name the right folder.',
    },
    'nothing-to-serve': {
      golden: 'variable-missing',
      mended: 'Set one of the variables, as in `CLOUD_KEY=… npm start`.',
    },
    'bad-environment': {
      golden: 'variable-holds-no-address',
      where: 'Here `LAN_URL` is `10.0.0.1:8080`.',
      mended: 'Set `LAN_URL=http://10.0.0.1:8080`.',
    },
  },
  'Secrets, addresses, prices': {
    secret: {
      golden: 'secret-in-place-of-a-variable',
      mended: ['sk-proj-Abc123Def456Ghi789', 'MORE_API_KEY'],
    },
    'forbidden-address': {
      golden: 'address-of-metadata',
      mended: ['http://169.254.169.254/latest', 'http://10.0.0.5:8000/v1'],
    },
    'price-per-token': {
      golden: 'price-per-token',
      mended: ['input: 0.0000025, output: 0.00001', 'input: 2.5, output: 10'],
    },
    'price-not-exact': { golden: 'price-too-exact', mended: ['0.10000000000000000001', '0.1'] },
    'free-model': {
      golden: 'price-zero-with-key',
      mended: ['price: { input: 0, output: 0 }', 'price: { input: 0.25, output: 2 }'],
    },
    'passthrough-all': { golden: 'passthrough-all', mended: ['["*"]', '[verbosity]'] },
    'unknown-language': { golden: 'language-misspelt', mended: ['pythn', 'python'] },
    'stale-figure': { golden: 'figures-stale', mended: ['as_of: 2026-01-05', 'as_of: 2026-11-20'] },
    'unverified-figure': {
      golden: 'figures-unverified',
      mended: ['output: 2 }', 'output: 2, as_of: 2026-11-20, basis: vendor-list }'],
    },
  },
  Plugins: {
    'plugin-not-loaded': {
      golden: 'plugin-not-there',
      mended: 'Put the file there: the path is seen from the policy folder. A package is installed beside it.',
    },
    'plugin-outside': {
      golden: 'plugin-outside',
      mended: 'Put the code into the policy folder, or install it as a package beside it.',
    },
    'plugin-failed': {
      golden: 'selector-refused-by-plugin',
      where: 'Here the plugin throws “not today” in its `prepare`.',
      mended: 'Give it options that it takes; what it takes, it says itself.',
    },
  },
  Expressions: {
    'cel-syntax': { golden: 'cel-single-equals', mended: [' = ', ' == '] },
    'cel-unknown-name': { golden: 'cel-text-without-quotes', mended: ['== chat', '== "chat"'] },
    'cel-unknown-field': { golden: 'cel-unknown-field', mended: ['request.tsk', 'request.task'] },
    'cel-type': { golden: 'cel-whole-number-against-figure', mended: ['== 100', '== 100.0'] },
    'cel-not-bool': { golden: 'cel-not-bool', mended: ['when: request.task', 'when: request.task == "chat"'] },
    'cel-not-text': { golden: 'budget-each-no-text', mended: ['each: key.labels,', 'each: key.id,'] },
    'cel-wrong-place': {
      golden: 'cel-request-in-require',
      mended: [
        'require: request.stream || model.price.output < 5.0',
        'when: "!request.stream"\n    require: model.price.output < 5.0',
      ],
    },
    'cel-refused': { golden: 'cel-has', mended: ['has(key.labels.team)', 'key.labels.team != ""'] },
    'cel-too-large': {
      golden: 'cel-too-large',
      mended: [`${'('.repeat(60)}request.stream${')'.repeat(60)}`, 'request.stream'],
    },
    'cel-too-costly': {
      golden: 'cel-too-costly',
      mended: [
        `'${LOOP('a')}${LOOP('b')}${LOOP('c')}${LOOP('d')}a + b + c + d > 3))))'`,
        "'[1, 2, 3, 4, 5, 6].all(a, a > 0)'",
      ],
    },
  },
  'Rules and selectors': {
    'refuses-everything': { golden: 'rule-refuses-everything', mended: ['< 0.1', '< 1.0'] },
    'satisfied-by-none': { golden: 'rule-satisfied-by-none', mended: ['"ch" in', '"eu" in'] },
    'nothing-to-inherit': {
      golden: 'selector-nothing-to-inherit',
      mended: 'State the weights of `auto-cheap` and `auto-fast`, or let `auto` run the strategy `auto`.',
    },
    'former-option': {
      golden: 'selector-former-option',
      mended: ['strategy: auto-fast', 'strategy: fastest-within-margin'],
    },
    'departs-from-base': {
      golden: 'selector-departs-from-base',
      mended: [', quality_floor: 0.9', ''],
    },
    'selector-empty': { golden: 'selector-tag-misspelt', mended: ['"privat"', '"private"'] },
    'selector-idle': { golden: 'selector-idle', mended: 'Set the variable of its provider, here `CLOUD_KEY`.' },
    'prefers-none': { golden: 'preference-prefers-none', mended: ['"lokal"', '"local"'] },
    'rule-never-applies': { golden: 'rule-hours-over-midnight', mended: ['&&', '||'] },
    'when-can-fail': {
      golden: 'rule-when-can-fail',
      mended: [
        'double(request.metadata.priority) > 3.0',
        'request.metadata.priority != "" && double(request.metadata.priority) > 3.0',
      ],
    },
    'require-fails': {
      golden: 'rule-fails-for-a-model',
      mended: ['model.tags[1] == "private"', `'"private" in model.tags'`],
    },
    'learning-idle': { golden: 'learning-explores-while-off', mended: ['mode: off', 'mode: shadow'] },
  },
  'Budgets and limits': {
    'shared-window': {
      golden: 'budget-each-without-match',
      mended: ['    each: key.labels.team\n', '    each: key.labels.team\n    match: key.labels.team != ""\n'],
    },
    'nothing-to-spend': { golden: 'budget-limit-zero', mended: ['limit_credits: 0', 'limit_credits: 100'] },
    'budget-renamed': {
      golden: 'budget-renamed',
      where: 'Here the ledger has windows of `kept` and `team-month`.',
      mended: ['name: team-monthly', 'name: team-month'],
    },
    'credits-changed': {
      golden: 'credits-changed',
      where: 'Here the ledger was counted in Credits of 0.001 USD.',
      mended: ['0.01', '0.001'],
    },
    'trusts-everybody': { golden: 'gateway-proxies-wrong', mended: ['0.0.0.0/0', '10.0.0.0/8'] },
  },
  'Agents that pay': {
    'mainnet-not-allowed': {
      golden: 'payments-mainnet-not-allowed',
      mended: ['    enabled: true\n', '    enabled: true\n    allow_mainnet: true\n'],
    },
    'token-differs': { golden: 'payments-token-differs', mended: ['name: USDC }', 'name: USD Coin }'] },
    'pays-nobody': {
      golden: 'payments-to-nobody',
      mended: [
        'pay_to: "0x0000000000000000000000000000000000000000"',
        'pay_to: "0x52908400098527886E0F7030069857D2E4169EE7"',
      ],
    },
    'facilitator-without-token': {
      golden: 'payments-facilitator-without-token',
      mended: ['url: "https://x402.example" }', 'url: "https://x402.example", bearer_env: X402_FACILITATOR_TOKEN }'],
    },
  },
  Cases: {
    'case-failed': {
      golden: 'case-failed',
      mended:
        'Mend the rule, or the case where the change was meant: `signalbox policy test` shows both sides ([testing.md](testing.md)).',
    },
  },
};
