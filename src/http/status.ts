import { Elysia } from 'elysia';
import type { StatusServices } from '../admin/status.ts';
import type { Principal } from '../operate/principal.ts';
import { type ScoreStatus, scoresBody } from '../operate/scores.ts';
import { routeDocs } from './docs/route-docs.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/status.ts';

/** The sources of a server's status that only the running process knows. */
export interface StatusSources extends StatusServices {
  /** Rejects with StoreError. */
  learning(by: Principal): Promise<ScoreStatus>;
}

/** `GET /admin/learning`. */
export const statusRoutes = (
  { principalOf }: Pick<RouteServices, 'principalOf'>,
  sources: Pick<StatusSources, 'learning'>,
) =>
  new Elysia({ name: 'status' }).get(
    '/admin/learning',
    async ({ request }) => scoresBody(await sources.learning(principalOf(request))),
    routeDocs({
      access: 'learning.read',
      summary: 'Scores by model and task',
      description:
        'Returns how many scores are stored, and their means by model and task. `./signalbox learn status` shows the same figures. The members `mode`, `estimator`, `examples`, `checkpoint`, `brier`, `keys` and `faults` have no meaning any more and always have the same value.',
      answer: { schema: schemas.LearningStatus, description: 'The status.' },
    }),
  );
