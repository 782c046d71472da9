import {
  defineGuard,
  fitsSchema,
  type GuardForm,
  type GuardMatch,
  type GuardText,
  type Members,
  parseJson,
  repairedJson,
  Type,
} from 'signalbox/plugin';

/** The steps that the check of one answer may take, and the longest answer, in characters: each about ten milliseconds. */
const STEPS_MAX = 250_000;
const LONGEST = 524_288;
/** The most characters of all texts of an answer that are repaired: at most about 20 milliseconds. */
const REPAIRED_MAX = 16_384;

/** Finds answers that are not the JSON that the policy or the request wants, and repairs slips such as a comma too many. */
export const jsonSchema = defineGuard({
  name: 'json-schema',
  status: 'alpha',
  settings: Type.Object(
    {
      schema: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          examples: [{ type: 'object', required: ['answer'] }],
          description:
            'The JSON schema of the text of each answer. Default: the form that the request wants, such as its `response_format`.',
        }),
      ),
      tools: Type.Boolean({
        default: true,
        description: 'Whether the arguments of a tool call must fit the parameters of its function.',
      }),
      repair: Type.Boolean({
        default: true,
        description: 'Whether a text that is almost JSON is repaired, such as a text with a comma too many.',
      }),
      repairs: Type.Integer({
        minimum: 0,
        maximum: 1,
        default: 0,
        description:
          'How often the model is asked again if its answer cannot be repaired. The caller pays for both answers.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'form',
  sides: ['output'],
  prepare({ schema, tools, repair, repairs }) {
    const stated = schema && { schema };
    const formFor = ({ kind, form }: GuardText): GuardForm | undefined =>
      kind === 'tool_arguments' ? (tools ? form : undefined) : (stated ?? form);
    return {
      kinds: ['invalid-json', 'schema-mismatch'],
      asksAgain: repairs > 0,
      longest: LONGEST,
      check({ texts }) {
        const budget = { left: STEPS_MAX };
        let repairable = REPAIRED_MAX;
        const repairedOf = ({ text, isCut }: GuardText): string | null => {
          if (!repair || isCut || text.length > repairable) return null;
          repairable -= text.length;
          return repairedJson(text);
        };
        const fits = (schema: Members | null, value: unknown): boolean => {
          const isFitting = schema === null || fitsSchema(schema, value, budget);
          if (budget.left < 0) throw new Error('the check of the schema takes too many steps');
          return isFitting;
        };
        return texts.flatMap((text, index): readonly GuardMatch[] => {
          const form = formFor(text);
          if (!form) return [];
          const kind = faultOf(text, (value) => fits(form.schema, value));
          if (kind === null) return [];
          const repaired = repairedOf(text);
          if (repaired === null || !fits(form.schema, parseJson(repaired))) return [{ kind }];
          return [{ kind, at: { text: index, from: 0, to: text.text.length }, repaired }];
        });
      },
    };
  },
});

function faultOf(
  { text, kind }: GuardText,
  fits: (value: unknown) => boolean,
): 'invalid-json' | 'schema-mismatch' | null {
  // A call without arguments has an empty object.
  const value = kind === 'tool_arguments' && text.trim() === '' ? {} : parseJson(text);
  if (value === undefined) return 'invalid-json';
  return fits(value) ? null : 'schema-mismatch';
}
