import type { DiagnosticCode } from '../../src/policy/report/diagnostics.ts';
import type { Example } from './diagnostics-example.ts';

const LOOP = (name: string) => `[1, 2, 3, 4, 5, 6].all(${name}, `;

/** The examples of expressions, rules and selectors. */
export const RULE_EXAMPLES: Readonly<Record<string, Partial<Record<DiagnosticCode, Example>>>> = {
  Expressions: {
    'cel-syntax': {
      golden: 'cel-single-equals',
      mend: 'Correct the expression at the marked location: `==` compares, `=` does not.',
      correction: [' = ', ' == '],
    },
    'cel-unknown-name': {
      golden: 'cel-text-without-quotes',
      mend: 'Put texts in quotes: `request.task == "chat"`.',
      correction: ['== chat', '== "chat"'],
    },
    'cel-unknown-field': {
      golden: 'cel-unknown-field',
      mend: 'Choose one of the [fields](reference.md#expressions).',
      correction: ['request.tsk', 'request.task'],
    },
    'cel-type': {
      golden: 'cel-whole-number-against-figure',
      mend: 'Write numbers with a decimal point: `100.0`.',
      correction: ['== 100', '== 100.0'],
    },
    'cel-not-bool': {
      golden: 'cel-not-bool',
      mend: 'Compare the value with another value.',
      correction: ['when: request.task', 'when: request.task == "chat"'],
    },
    'cel-not-text': {
      golden: 'budget-each-no-text',
      mend: 'Use a text, such as `key.id` or a label.',
      correction: ['each: key.labels,', 'each: key.id,'],
    },
    'cel-wrong-place': {
      golden: 'cel-request-in-require',
      mend: 'Move that condition to the other key.',
      correction: [
        'require: request.stream || model.price.output < 5.0',
        'when: "!request.stream"\n    require: model.price.output < 5.0',
      ],
    },
    'cel-refused': {
      golden: 'cel-has',
      mend: 'Write `key.labels.team != ""`, or use `startsWith`, `endsWith` or `contains`.',
      correction: ['has(key.labels.team)', 'key.labels.team != ""'],
    },
    'cel-too-large': {
      golden: 'cel-too-large',
      mend: 'Simplify the expression.',
      correction: [`${'('.repeat(60)}request.stream${')'.repeat(60)}`, 'request.stream'],
    },
    'cel-too-costly': {
      golden: 'cel-too-costly',
      mend: 'Remove nested loops ([limits](language.md#expressions)).',
      correction: [
        `'${LOOP('a')}${LOOP('b')}${LOOP('c')}${LOOP('d')}a + b + c + d > 3))))'`,
        "'[1, 2, 3, 4, 5, 6].all(a, a > 0)'",
      ],
    },
  },
  'Rules and selectors': {
    'refuses-everything': {
      golden: 'rule-refuses-everything',
      mend: 'Correct the rule. If it is intended, write `require: "false"`.',
      correction: ['< 0.1', '< 1.0'],
    },
    'satisfied-by-none': {
      golden: 'rule-satisfied-by-none',
      mend: 'Correct the rule, or set the environment variable of a provider that serves such a model.',
      correction: ['"ch" in', '"eu" in'],
    },
    'strategy-failed': {
      golden: 'selector-strategy-failed',
      mend: 'Correct the plugin, or name another strategy.',
    },
    'weak-tier': {
      golden: 'tier-weak',
      mend: 'Begin `strong` with a model that is no worse.',
      correction: ['usual: [good], strong: [small]', 'usual: [small], strong: [good]'],
    },
    'costly-tier': {
      golden: 'tier-costly',
      mend: 'Begin the list with a cheaper or faster model.',
      correction: ['usual: [good, small], strong: [good]', 'usual: [small, good], strong: [small]'],
    },
    'selector-empty': {
      golden: 'selector-tag-misspelt',
      mend: 'Correct the filter.',
      correction: ['"privat"', '"private"'],
    },
    'vector-space-missing': {
      golden: 'vector-space-missing',
      mend: 'State the `vector_space`.',
      correction: ['strategy: auto\n', 'strategy: auto\n    vector_space: embed-a\n'],
    },
    'vector-space-differs': {
      golden: 'vector-space-differs',
      mend: 'Correct the `dimensions`, or give one of the models another vector space.',
      correction: ['dimensions: 768', 'dimensions: 1536'],
    },
    'provider-without-operation': {
      golden: 'provider-without-operation',
      mend: 'Name a provider whose adapter has it. The adapters `openai`, `openai-compatible`, `gemini` and `simulated` embed.',
      correction: ['provider: sim', 'provider: cloud'],
    },
    'selector-idle': {
      golden: 'selector-idle',
      mend: 'Set the environment variable of a provider that serves such a model.',
    },
    'rules-conflict': {
      golden: 'rules-that-exclude-each-other',
      mend: 'Relax one of the rules, or exclude the requests of one from the other with `when`.',
      correction: ['request.task == "coding"', 'request.task == "coding" && key.labels.department != "legal"'],
    },
    'admits-undeclared': {
      golden: 'region-excluded-by-negation',
      mend: 'Name the allowed regions, or add `&& size(endpoint.regions) > 0`.',
      correction: ['!("us" in endpoint.regions)', '"eu" in endpoint.regions'],
    },
    'misspelt-value': {
      golden: 'tag-misspelt',
      mend: 'Correct the spelling, or compare with the name: `team.name` instead of `team.id`.',
      correction: ['"privat"', '"private"'],
    },
    'prefers-none': {
      golden: 'preference-prefers-none',
      mend: 'Correct `prefer` or `worth`.',
      correction: ['"lokal"', '"local"'],
    },
    'rule-never-applies': {
      golden: 'rule-hours-over-midnight',
      mend: 'For a time span that includes midnight, join the hours with `||`.',
      correction: ['&&', '||'],
    },
    'when-can-fail': {
      golden: 'rule-when-can-fail',
      mend: 'Test first that the value exists: `request.metadata.n != "" && …`.',
      correction: [
        'double(request.metadata.priority) > 3.0',
        'request.metadata.priority != "" && double(request.metadata.priority) > 3.0',
      ],
    },
    'require-fails': {
      golden: 'rule-fails-for-a-model',
      mend: 'Use `in` instead of an index.',
      correction: ['model.tags[1] == "private"', `'"private" in model.tags'`],
    },
    'guard-side': {
      golden: 'guard-of-answers',
      mend: 'State only the sides that the plugin can inspect.',
      correction: ['on: [output]', 'on: [input]'],
    },
    'guard-cannot-mask': {
      golden: 'guard-cannot-mask',
      mend: 'Write `on_match: block` or `on_match: flag`.',
      correction: ['on_match: mask', 'on_match: block'],
    },
    'guard-unmask': {
      golden: 'guard-without-mask',
      mend: 'Remove `unmask`, or mask the input.',
      correction: ['on_match: flag', 'on_match: mask'],
    },
  },
};
