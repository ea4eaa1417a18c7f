export default { name: "newsletter" };
