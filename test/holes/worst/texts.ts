/** Makes a text of this many pieces. */
type TextShape = (parts: number) => string;
type TextShapes = Readonly<Record<string, TextShape>>;

const of =
  (piece: string): TextShape =>
  (parts) =>
    piece.repeat(parts);

/** Texts for which no finder and no tokenizer may take long. */
export const ANY_TEXTS: TextShapes = {
  'one letter': of('a'),
  digits: of('1'),
  blanks: of(' '),
  'line ends': of('\r\n'),
  'blanks and line ends': of(' \n'),
  signs: of('.-'),
  words: of('word '),
  'short words': of('a '),
  'letters of other scripts': of('中ไé'),
  'half characters': of('\ud800x'),
  capitals: of('aA'),
  quotes: of('"\''),
};

/** The beginning of each kind of personal data, repeated. */
const OF_KINDS = {
  email: {
    signs: of('@'),
    names: of('a@'),
    domains: (parts: number) => `a@${'b.'.repeat(parts)}`,
    emails: of('a@b.co '),
  },
  phone: { numbers: of('+49 30 1234567 '), groups: of('030/'), brackets: of('('), 'numbers without an end': of('1 ') },
  card: { numbers: of('4111111111111111 '), groups: of('411 '), 'one number': of('411-') },
  iban: { beginnings: of('DE89 '), numbers: of('DE89370400440532013000 '), letters: of('DE891') },
  ip: { addresses: of('1.2.3.4 '), dots: of('1.'), colons: of('a:'), 'pairs of colons': of('::') },
  secret: {
    bearers: of('Bearer '),
    headers: of('authorization:'),
    tokens: of('-eyJaaaaaaaaaa'),
    keys: of('sk-'),
    'parts of a token': of('eyJa.'),
  },
} as const satisfies Readonly<Record<string, TextShapes>>;

/** Beginnings of keys within words, repeated. */
export const GLUED_TEXTS: TextShapes = {
  ...ANY_TEXTS,
  ...OF_KINDS.secret,
  'glued keys': of('ask-'),
  'known parts': of('sk-live-'),
  'short runs': of('sk-a1-'),
  'runs of letters': of('sk-aaaaaaaaaaaaaaaa'),
  'glued tokens': of('eyJa.'),
};

/** The worst texts, by the kind that a finder looks for. */
export const WORST_TEXTS: Readonly<Record<string, TextShapes>> = Object.fromEntries(
  Object.entries(OF_KINDS).map(([kind, shapes]) => [kind, { ...ANY_TEXTS, ...shapes }]),
);

/** The worst texts, by the name of a tokenizer. */
export const WORST_TOKENS: Readonly<Record<string, TextShapes>> = { o200k_base: ANY_TEXTS, cl100k_base: ANY_TEXTS };

/** JSON that is scanned, parsed, or searched for its mistake. */
export const JSON_TEXTS: TextShapes = {
  lists: (parts) => `[${'[],'.repeat(parts)}0]`,
  'members of an object': (parts) => `{${'"a":1,'.repeat(parts)}"b":1}`,
  'a text of quotes': (parts) => `"${'\\"'.repeat(parts)}"`,
  'a text of backslashes': (parts) => `["${'\\\\'.repeat(parts)}"]`,
  'texts of quotes': (parts) => `[${'"\\"",'.repeat(parts)}0]`,
  'a text without an end': (parts) => `["${'a'.repeat(parts)}`,
  'quotes without an end': (parts) => `["${'\\"'.repeat(parts)}`,
  'backslashes and quotes without an end': (parts) => `["${`${'\\\\'.repeat(20)}\\"`.repeat(parts)}`,
  blanks: (parts) => `[${' '.repeat(parts)}x]`,
  'line ends': (parts) => `[${'\n'.repeat(parts)}x]`,
  digits: (parts) => `[${'1'.repeat(parts)}x]`,
  numbers: (parts) => `[${'1.5e10,'.repeat(parts)}x]`,
  'open brackets': (parts) => '['.repeat(parts),
};

/** Configurations of LiteLLM's proxy. */
export const LITELLM_TEXTS: TextShapes = {
  models: (parts) =>
    `model_list:\n${lines(parts, (at) => `  - { model_name: m${at}, litellm_params: { model: openai/gpt-4o, api_key: os.environ/K${at} } }`)}`,
  'deployments of a model': (parts) =>
    `model_list:\n${lines(parts, (at) => `  - { model_name: m, litellm_params: { model: openai/gpt-4o, api_base: 'https://h${at}.example' } }`)}`,
  'unknown keys': (parts) => `model_list: []\n${lines(parts, (at) => `key${at}: 1`)}`,
  'fallbacks and aliases': (parts) =>
    [
      `model_list:\n${lines(parts, (at) => `  - { model_name: m${at}, litellm_params: { model: openai/gpt-4o } }`)}`,
      'router_settings:',
      `  fallbacks:\n${lines(parts, (at) => `    - { m${at}: [m0] }`)}`,
      `  model_group_alias:\n${lines(parts, (at) => `    a${at}: m${at}`)}`,
      '',
    ].join('\n'),
  'chains of fallbacks': (parts) =>
    [
      `model_list:\n${lines(parts, (at) => `  - { model_name: m${at}, litellm_params: { model: openai/gpt-4o } }`)}`,
      'router_settings:',
      ...['fallbacks', 'context_window_fallbacks', 'content_policy_fallbacks'].map(
        (key) => `  ${key}:\n${lines(parts, (at) => `    - { m${at}: [m${at + 1}, m${at + 2}] }`)}`,
      ),
      '',
    ].join('\n'),
  'shares of a model': (parts) =>
    `model_list:\n${lines(parts, (at) => `  - { model_name: m, litellm_params: { model: openai/gpt-4o, api_base: 'https://h${at}.example', order: ${at}, weight: ${at}, rpm: ${at + 1} } }`)}`,
  credentials: (parts) =>
    `credential_list:\n${lines(parts, (at) => `  - { credential_name: c${at}, credential_values: { api_key: os.environ/K${at} } }`)}\nmodel_list:\n${lines(
      parts,
      (at) => `  - { model_name: m${at}, litellm_params: { model: openai/gpt-4o, litellm_credential_name: c${at} } }`,
    )}`,
  'aliases of an anchor': (parts) => `a: &a { b: 1 }\nmodel_list: []\nmore:\n${lines(parts, () => '  - *a')}`,
};

/** The worst texts, by the folder name of an importer. */
export const WORST_IMPORTS: Readonly<Record<string, TextShapes>> = { litellm: LITELLM_TEXTS };

const lines = (parts: number, line: (at: number) => string): string =>
  Array.from({ length: parts }, (_, at) => line(at)).join('\n');
