// One rule of our own for oxlint, which has none for it: `new Date()` reads the clock; `new Date(ms)` does not.
const noNewDateWithoutArguments = {
  create: (context) => ({
    NewExpression(node) {
      if (node.callee.type === 'Identifier' && node.callee.name === 'Date' && node.arguments.length === 0) {
        context.report({ node, message: 'Time is a value: take a Clock and write new Date(clock.now()).' });
      }
    },
  }),
};

// oxlint-disable-next-line no-default-export -- oxlint loads a plugin from the default export
export default { meta: { name: 'tillgate' }, rules: { 'no-new-date-without-arguments': noNewDateWithoutArguments } };
