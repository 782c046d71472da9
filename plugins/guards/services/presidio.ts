import { defineGuard, type GuardMatch, isObject, listOf, Type } from 'signalbox/plugin';
import { jsonHeaders, jsonOf, needed, unitsIn } from './reply.ts';

/** Presidio's names of entities, such as `EMAIL_ADDRESS`. */
const ENTITY = '^[A-Z][A-Z0-9_]{0,39}$';

const kindOf = (entity: string): string => entity.toLowerCase().replaceAll('_', '-');

/**
 * Finds personal data with the analyzer of Microsoft Presidio: `POST /analyze` with a list of texts, see `presidio-analyzer/app.py` and the
 * API reference of Presidio. The places in its replies count code points.
 */
export const presidio = defineGuard({
  name: 'presidio',
  status: 'alpha',
  settings: Type.Object(
    {
      entities: Type.Array(Type.String({ pattern: ENTITY }), {
        minItems: 1,
        maxItems: 64,
        uniqueItems: true,
        default: [
          ...[
            'CREDIT_CARD',
            'EMAIL_ADDRESS',
            'IBAN_CODE',
            'IP_ADDRESS',
            'LOCATION',
            'PERSON',
            'PHONE_NUMBER',
            'US_SSN',
          ],
        ],
        description: 'The entities that Presidio looks for.',
      }),
      language: Type.String({
        pattern: '^[a-z]{2,3}$',
        default: 'en',
        description: 'The language of the texts, for which Presidio has a model.',
      }),
      score: Type.Number({
        minimum: 0,
        maximum: 1,
        default: 0.5,
        description: 'The least score of a match.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: false,
  service: {},
  window: 'all',
  sides: ['input', 'output'],
  prepare: ({ entities, language, score }) => ({
    kinds: [...new Set(entities.map(kindOf))],
    async check({ texts }, given) {
      const service = needed(given);
      const body = JSON.stringify({
        text: texts.map(({ text }) => text),
        language,
        entities,
        score_threshold: score,
      });
      const reply = await service.post({ path: '/analyze', headers: jsonHeaders(service), body });
      const results = jsonOf(reply);
      if (!Array.isArray(results) || results.length !== texts.length) {
        throw new Error(`the service returned no list of ${texts.length} results`);
      }
      return results.flatMap((found, index) => matchesIn(found, index, texts[index]!.text));
    },
  }),
});

/** @throws Error for a result that has not Presidio's form */
function matchesIn(found: unknown, index: number, text: string): readonly GuardMatch[] {
  if (!Array.isArray(found)) throw new Error('a result of the service is no list');
  const unitOf = unitsIn(text);
  return listOf(found).map((one) => {
    if (!isObject(one)) throw new Error('a match of the service is no object');
    const { entity_type: entity, start, end } = one;
    if (typeof entity !== 'string' || typeof start !== 'number' || typeof end !== 'number') {
      throw new Error('a match of the service has no `entity_type`, `start` and `end`');
    }
    return { kind: kindOf(entity), at: { text: index, from: unitOf(start), to: unitOf(end) } };
  });
}
