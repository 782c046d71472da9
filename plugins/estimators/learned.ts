import { defineEstimator, type EstimatorMemory, Type } from 'signalbox/plugin';
import { CatalogEstimator, type EstimatorSettings } from './learned/estimate.ts';
import { Packer, packLength } from './learned/features.ts';
import { openParts, saveParts } from './learned/parts.ts';
import { installationMark, Scanner } from './learned/scanner.ts';

const figure = (value: number, bounds: Parameters<typeof Type.Number>[0], description: string) =>
  Type.Number({ ...bounds, default: value, examples: [value], description });

const outcomesOption = (value: number, of: string) =>
  figure(value, { exclusiveMinimum: 0, maximum: 1_000_000 }, `For models whose declared quality is ${of}.`);

/**
 * The declared quality, corrected by the length of the question, by the outcomes of each model and task, and by the
 * words of the question as far as they have proved to be informative. Without outcomes and text, exactly the declared
 * quality.
 */
export const learned = defineEstimator({
  name: 'learned',
  status: 'alpha',
  options: Type.Object(
    {
      length: figure(
        0.25,
        { minimum: 0, maximum: 2 },
        'Loss in log odds of a good answer when a question is one standard deviation longer than usual.',
      ),
      doubt: figure(
        1,
        { minimum: 0, maximum: 10 },
        'Standard deviations beyond chance by which words must have been right before they count.',
      ),
      outcomes_worth: Type.Object(
        {
          measured: outcomesOption(300, 'measured'),
          guessed: outcomesOption(100, 'guessed'),
          unknown: outcomesOption(30, 'of unknown origin'),
        },
        {
          additionalProperties: false,
          default: {},
          description: 'Outcomes that a declared quality counts as, by its `basis`.',
        },
      ),
    },
    {
      additionalProperties: false,
      description: 'Declared quality, corrected by the length of questions, by outcomes and by the words of questions.',
    },
  ),
  prepare({ length, doubt, outcomes_worth: outcomesWorth }, secret) {
    const settings: EstimatorSettings = { length, doubt, declaredOutcomes: outcomesWorth };
    const scanner = new Scanner(secret);
    const packer = new Packer();
    const installation = installationMark(secret);
    return {
      read(text, lengthAlone = false) {
        if (lengthAlone) return packLength(text);
        scanner.scan(text);
        return packer.pack(scanner);
      },
      open(parts): EstimatorMemory {
        const memory = openParts(parts, installation);
        return {
          over: (catalog) => new CatalogEstimator(memory, catalog, settings, scanner),
          forget: (model) => (model === null ? memory.forgetAll() : memory.forget(model)),
          save: (everything) => saveParts(memory, everything, installation),
        };
      },
    };
  },
});
