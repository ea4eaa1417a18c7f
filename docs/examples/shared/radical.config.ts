export default { name: "shared" };
