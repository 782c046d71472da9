import { defineGuard, type GuardMatch, type GuardText, isObject, listOf, Type } from 'signalbox/plugin';
import { jsonHeaders, jsonOf, needed, unitsIn } from './reply.ts';

/** The groups of Lakera's detectors, which are the first parts of names such as `pii/email`, and the kinds of their matches. */
const GROUPS: Readonly<Record<string, string>> = {
  prompt_attack: 'prompt-attack',
  pii: 'personal-data',
  moderated_content: 'moderated-content',
  content_moderation: 'moderated-content',
  unknown_links: 'unknown-links',
};
/** The kind of matches of all other detectors, and of a verdict without a detector. */
const OTHER = 'other';

const kindOf = (detector: unknown): string => {
  const [group = ''] = typeof detector === 'string' ? detector.split('/') : [];
  return Object.hasOwn(GROUPS, group) ? GROUPS[group]! : OTHER;
};

const ROLES = { system: 'system', user: 'user', assistant: 'assistant', developer: 'system', tool: 'user' } as const;

/** Screens texts with Lakera Guard: `POST /v2/guard`, see the API reference of Lakera Guard. */
export const lakera = defineGuard({
  name: 'lakera',
  status: 'alpha',
  settings: Type.Object(
    {
      project: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description:
            'The ID of the Lakera project whose policy decides which detectors run. Default: the default policy.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
  pure: false,
  service: { url: 'https://api.lakera.ai' },
  window: 'all',
  sides: ['input', 'output'],
  prepare: ({ project }) => ({
    kinds: [...new Set(Object.values(GROUPS)), OTHER],
    async check({ texts }, given) {
      const service = needed(given);
      const body = JSON.stringify({
        messages: texts.map(({ text, role }) => ({ role: role === null ? 'system' : ROLES[role], content: text })),
        ...(project !== undefined && { project_id: project }),
        payload: true,
        breakdown: true,
      });
      const reply = jsonOf(await service.post({ path: '/v2/guard', headers: jsonHeaders(service), body }));
      if (!isObject(reply) || typeof reply.flagged !== 'boolean') throw new Error('the reply has no `flagged`');
      return reply.flagged ? matchesOf(reply, texts) : [];
    },
  }),
});

/**
 * Returns the matches of a reply that flags its request. A detector has a place if the payload has the text of its match at this place;
 * otherwise its match is about all texts.
 */
function matchesOf(
  { payload, breakdown }: Readonly<Record<string, unknown>>,
  texts: readonly GuardText[],
): readonly GuardMatch[] {
  const placed = new Set<string>();
  const matches: GuardMatch[] = [];
  const places = new Map<number, ReturnType<typeof unitsIn>>();
  const unitsOf = (index: number, text: string) => places.getOrInsertComputed(index, () => unitsIn(text));
  for (const one of listOf(payload)) {
    const match = isObject(one) ? placedMatch(one, texts, unitsOf) : null;
    if (!isObject(one) || !match) continue;
    matches.push(match);
    placed.add(`${one.detector_type} ${one.message_id}`);
  }
  for (const one of listOf(breakdown)) {
    if (!isObject(one) || one.detected !== true) continue;
    if (!placed.has(`${one.detector_type} ${one.message_id}`)) matches.push({ kind: kindOf(one.detector_type) });
  }
  return matches.length > 0 ? matches : [{ kind: OTHER }];
}

function placedMatch(
  { start, end, text: written, message_id: index, detector_type: detector }: Readonly<Record<string, unknown>>,
  texts: readonly GuardText[],
  unitsOf: (index: number, text: string) => ReturnType<typeof unitsIn>,
): GuardMatch | null {
  const text = typeof index === 'number' ? texts[index]?.text : undefined;
  if (text === undefined || typeof index !== 'number' || typeof start !== 'number' || typeof end !== 'number')
    return null;
  const unitOf = unitsOf(index, text);
  const [from, to] = [unitOf(start), unitOf(end)];
  const isPlace = from < to && text.slice(from, to) === written;
  return isPlace ? { kind: kindOf(detector), at: { text: index, from, to } } : null;
}
