// What a developer of an ERP needs: the table of errors, the amounts that choose an outcome, and in the sandbox a key and
// devices to try with. A real gateway gives no key here.

import { adminAnswers } from '../../http/schemas.ts';
import type { RouteApp } from '../../http/server.ts';
import { errorCodes } from '../../kernel/error-codes.ts';
import { Type } from '../../kernel/schema-type.ts';
import { configOf } from '../roles.ts';
import { apiPath, exampleIds, listOf, tags } from '../shared-schemas.ts';

export interface DeveloperFacts {
  /** Of the sandbox only. */
  apiKey?: string | undefined;
  devices?: readonly { id: string; kind: 'terminal' | 'register'; name: string }[] | undefined;
  magicAmounts: readonly { amount: string; fault: string; kind: string; meaning: string }[];
}

export interface DeveloperDeps {
  developerFacts: () => DeveloperFacts;
}

export function registerDeveloperRoutes(app: RouteApp, { developerFacts }: DeveloperDeps): void {
  const errors = Object.entries(errorCodes).map(([name, { code, httpStatus, meaning }]) => ({ code, name, httpStatus, meaning }));
  app.get(
    `${apiPath}/developers`,
    {
      config: configOf('readDevelopers'),
      schema: {
        tags,
        operationId: 'readDevelopers',
        summary: 'Errors, magic amounts, and in the sandbox a key and devices to try with',
        response: adminAnswers({
          description: 'What one needs to write against the gateway.',
          fields: {
            apiKey: Type.Optional(Type.String()),
            devices: Type.Optional(listOf({ id: Type.String(), kind: Type.String(), name: Type.String() })),
            magicAmounts: listOf({ amount: Type.String(), fault: Type.String(), kind: Type.String(), meaning: Type.String() }),
            errors: listOf({ code: Type.Integer(), name: Type.String(), httpStatus: Type.Integer(), meaning: Type.String() }),
          },
          example: {
            devices: [{ id: exampleIds.device, kind: 'terminal', name: 'Till 1' }],
            magicAmounts: [{ amount: 'x.61', fault: 'declined', kind: 'terminal', meaning: 'the bank declines the card' }],
            errors: [{ code: 0, name: 'NoError', httpStatus: 200, meaning: 'Success.' }],
          },
        }),
      },
    },
    () => ({ ...developerFacts(), errors }),
  );
}
