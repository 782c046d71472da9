import { Elysia } from 'elysia';
import type { AppOptions } from './app-options.ts';
import type { LoginDoor } from './console/login-door.ts';
import { consoleRoutes } from './console/routes.ts';
import { signInRoutes } from './console/sign-in.ts';
import { eventRoutes } from './events.ts';
import { feedbackRoutes } from './feedback.ts';
import { healthRoutes } from './health.ts';
import { operationRoutes } from './kit/operations.ts';
import type { RouteServices } from './kit/route-services.ts';
import { metricsRoutes } from './metrics.ts';
import { adminModelRoutes, modelRoutes } from './models.ts';
import { operationServices } from './operation-services.ts';
import { playgroundRoutes } from './playground.ts';
import { trailExportRoutes } from './trail.ts';
import { x402Routes } from './x402/routes.ts';

/** All routes of the API except the routes that call models. */
export const apiRoutes = (
  services: RouteServices,
  door: LoginDoor,
  countFailure: (request: Request) => void,
  options: AppOptions,
) => {
  const { gateway, policy, keys, store, metrics, signIn, built, feed, surfaces, operations } = options;
  return new Elysia({ name: 'api' })
    .use(healthRoutes(gateway, policy, store))
    .use(metricsRoutes(metrics))
    .use(operationRoutes('operations', operations, operationServices(services, options)))
    .use(trailExportRoutes({ ...services, store }))
    .use(modelRoutes(services, surfaces))
    .use(adminModelRoutes(services))
    .use(feedbackRoutes(services))
    .use(eventRoutes({ ...services, feed, judges: { ...options, door } }))
    .use(playgroundRoutes({ ...services, keys }))
    .use(signInRoutes({ ...services, signIn, door, built, countFailure }))
    .use(consoleRoutes({ signIn, door, built }))
    .use(x402Routes({ ...services, gateway, store }));
};
