// The TypeScript client in every situation of the table.
import { describeCases } from './cases.ts';
import { typescriptDriver } from './drivers.ts';

describeCases('the TypeScript client', typescriptDriver());
