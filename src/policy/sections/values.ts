import { Type } from '@sinclair/typebox';
import { figure, word } from '../../core/define/fields.ts';
import { AGENT_ALIASES, type AliasNames, aliasNames } from '../../core/policy/alias-names.ts';
import { asDrafted, defineSection, defineValue, ORDINARY } from '../define/section.ts';

/** The section `version`. */
export const VERSION = defineValue({
  name: 'version',
  text: Type.Literal(1, {
    expected: '`version: 1`, or leave it out',
    examples: [1],
    description: 'Version of the policy language. There is one version.',
  }),
  guard: ORDINARY,
});

/** The section `strong_from`. */
export const STRONG_FROM = defineSection({
  ...defineValue({
    name: 'strong_from',
    text: figure('From which probability, 0 to 1, that its first question is hard a conversation counts as hard.', {
      minimum: 0,
      maximum: 1,
      default: 0.88,
    }),
    guard: ORDINARY,
  }),
  compile: asDrafted<number>,
});

/** The section `unstated_quality`. */
export const UNSTATED_QUALITY = defineValue({
  name: 'unstated_quality',
  text: word(
    {
      lower_end:
        'The `default` of the model, minus 0.03 if its `basis` is `measured`, 0.06 if it is `guessed`, or 0.12 if it is `unknown`.',
      default: 'The `default` of the model.',
    },
    'Quality of a model in a task for which it states no figure. `default`: the `default` of the model. `lower_end`: 0.03 less if the `basis` is `measured`, 0.06 less if it is `guessed`, 0.12 less if it is `unknown`. For the task `general`, the `default` always counts.',
    { default: 'lower_end', example: 'default' },
  ),
  guard: ORDINARY,
});

/** The section `unstated_latency`. */
export const UNSTATED_LATENCY = defineValue({
  name: 'unstated_latency',
  text: word(
    {
      neutral: '1,000 ms to the first token and 50 tokens per second, for every model.',
      median: 'The medians of similar models in the catalog.',
      slow: '1,700 ms to the first token and 75 tokens per second, for every model.',
    },
    'Speed of a model that states none. `slow`: 1,700 ms to the first token and 75 tokens per second, which three quarters of the hosted models reach. `median`: the median speed of similar models. `neutral`: 1,000 ms to the first token and 50 tokens per second.',
    { default: 'slow', example: 'neutral' },
  ),
  guard: ORDINARY,
});

/** The section `unstated_languages`. */
export const UNSTATED_LANGUAGES = defineValue({
  name: 'unstated_languages',
  text: word(
    {
      exclude: 'A request that requires the language has no eligible model.',
      admit: 'The support counts as unknown: all models stay eligible except models that lack the language.',
    },
    'What happens if a request requires a programming language that no model declares. `admit` keeps all models except those that lack the language; `exclude` leaves no model.',
    { default: 'admit', example: 'exclude' },
  ),
  guard: ORDINARY,
});

/** The section `alias_patterns`. */
export const ALIAS_PATTERNS = defineValue({
  name: 'alias_patterns',
  text: word(
    {
      unknown_names: 'A model with public figures that a wildcard serves keeps its name.',
      all_names: 'The aliases also cover the names of models that a wildcard serves.',
    },
    'Which names are covered by aliases that end in `*`. A model of the policy always keeps its name. `unknown_names`: a model with public figures that a wildcard serves keeps its name, too. `all_names`: the aliases also cover such models.',
    { default: 'unknown_names', example: 'all_names' },
  ),
  guard: ORDINARY,
});

const DefaultAliasesText = word(
  {
    agents: 'The built-in selectors have the names that coding agents send as aliases.',
    none: 'Selectors have only the aliases that they list.',
  },
  'Which aliases the built-in selectors have in addition to the listed ones. `agents`: the names that Claude Code and gemini-cli send, such as `claude-auto`, `claude-sonnet-*` and `gemini-3.5-flash-lite`. They apply only to names that no model here has. `none`: no others.',
  { default: 'agents', example: 'none' },
);

const STATED_ALIASES = defineValue({ name: 'default_aliases', text: DefaultAliasesText, guard: ORDINARY });

/** The section `default_aliases`: the aliases that the built-in selectors have without listing them. */
export const DEFAULT_ALIASES = defineSection({
  ...STATED_ALIASES,
  draft: (context): AliasNames => aliasNames(STATED_ALIASES.draft(context) === 'none' ? new Map() : AGENT_ALIASES),
  compile: asDrafted,
});
