(class_declaration name: (identifier) @name) @class
