import { Elysia } from 'elysia';
import type { StatusServices } from '../admin/status.ts';
import { type LearningStatus, learningBody } from '../operate/learning/status.ts';
import type { Principal } from '../operate/principal.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/status.ts';

/** The sources of a server's status that only the running process knows. */
export interface StatusSources extends StatusServices {
  /** Rejects with StoreError. */
  learning(by: Principal): Promise<LearningStatus>;
}

/** `GET /admin/learning`. */
export const statusRoutes = (
  { principalOf }: Pick<RouteServices, 'principalOf'>,
  sources: Pick<StatusSources, 'learning'>,
) =>
  new Elysia({ name: 'status' }).get(
    '/admin/learning',
    async ({ request }) => learningBody(await sources.learning(principalOf(request))),
    routeDocs({
      access: 'learning.read',
      summary: 'Results of learning',
      description:
        'Returns the stored outcomes, the changes that they made to the quality of each model, and the keys that they came from. `./signalbox learn status` shows the same figures.',
      answer: { schema: schemas.LearningStatus, description: 'The status.' },
    }),
  );
