import { Elysia } from 'elysia';
import { iso } from '../core/clock.ts';
import { SignalboxError } from '../core/errors.ts';
import { idText, parseId } from '../core/id.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import { KeptContent } from './schemas/content.ts';

/** `GET /admin/decisions/{id}/content`: the text of a request and its answer, where the policy keeps it. */
export const contentRoutes = ({ gateway, callerOf }: RouteServices) =>
  new Elysia({ name: 'contents' }).get(
    '/admin/decisions/:id/content',
    async ({ params: { id }, request }) => {
      const number = parseId('dec_', id);
      const found = number === null ? null : await gateway.records.findContent(number);
      if (number === null || !found) {
        throw new SignalboxError('not_found', 'Nothing is kept of the words of this decision.');
      }
      // Reading others' texts leaves a trace.
      gateway.log.info('content was read', { decision: idText('dec_', number), key: callerOf(request).keyId });
      return {
        decision_id: idText('dec_', number),
        object: 'content',
        prompt: found.prompt,
        answer: found.answer,
        is_cut: found.isCut,
        kept_until: iso(found.until),
      };
    },
    routeDocs({
      access: 'admin',
      summary: 'Words of a request and its answer',
      description:
        'Only where `records.content` of the policy had them kept, which it does for nobody unless it says so. Each read is a line in the log.',
      answer: { schema: KeptContent, description: 'What was kept.' },
      errors: ['not_found'],
    }),
  );
