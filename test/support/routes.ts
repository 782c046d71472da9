import { type AppOptions, createApp } from '../../src/http/app.ts';
import { RouteTable, routeRules } from '../../src/http/routes.ts';
import { anthropicMessages } from '../../src/surface/anthropic-messages/surface.ts';
import { openaiChat } from '../../src/surface/openai-chat/surface.ts';
import { openaiResponses } from '../../src/surface/openai-responses/surface.ts';

/** The shipped app, never asked: only its routes matter. */
export const APP = createApp({
  gateway: {},
  surfaces: [openaiChat, anthropicMessages, openaiResponses],
} as unknown as AppOptions);

/** The table by which requests are admitted. */
export const ROUTE_TABLE = new RouteTable(routeRules(APP.routes));

/** Every route of the shipped app with its access. */
export const ROUTES = ROUTE_TABLE.rules;
