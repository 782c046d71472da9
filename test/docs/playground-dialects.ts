import { jsonText } from '../../src/cli/text.ts';
import { SURFACES } from '../../src/dialects/surfaces.ts';

/** The dialects of the console's playground, which the console cannot import from the modules of the server. */
export const playgroundDialects = (): string =>
  jsonText(
    Object.fromEntries(
      SURFACES.flatMap(({ name, playground, routes: [route] }) => {
        if (!playground || route.kind !== 'answer') return [];
        const { word, ...shown } = playground;
        return [[word, { ...shown, path: route.path, name, operation: route.operation }] as const];
      }),
    ),
  );
